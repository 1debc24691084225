"""What the service answers is what the model says from Python."""

from typing import Any

import numpy as np
import pytest
from httpx import Client
from tests.serve.models import HOSTILE, ITEMS, USERS, get, post

from dcpf.model import FittedModel


def test_a_known_user_gets_the_list_of_the_model(asking: Client, model: FittedModel) -> None:
    told = get(asking, "/api/recommend", user="alice", n=5)
    expected = model.recommend(["alice"], n=5).to_frame()
    assert told["user"] == "alice"
    assert told["unknown_items"] == []
    assert "history" not in told
    for name in ("item", "name", "sessions", "count", "probability"):
        assert [one[name] for one in told["items"]] == expected[name].to_list()
    assert told == post(asking, "/api/recommend", {"user": "alice", "n": 5})


def test_what_the_user_has_comes_up_only_if_it_is_asked_for(asking: Client, model: FittedModel) -> None:
    every = get(asking, "/api/recommend", user="alice", n=1000, exclude_seen=False)["items"]
    assert len(every) == 24
    assert model.history is not None
    assert len(get(asking, "/api/recommend", user="alice", n=1000)["items"]) == 24 - model.history[[0]].nnz


@pytest.mark.parametrize("as_pairs", [False, True])
def test_a_history_is_folded_in_and_read(asking: Client, model: FittedModel, as_pairs: bool) -> None:
    history = {"song 7": 12, "Name of song 9": 1, "nowhere": 3, "song 8": 0}
    body: Any = [{"item": item, "count": count} for item, count in history.items()] if as_pairs else history
    told = post(asking, "/api/recommend", {"history": body, "n": 4})
    known = {"song 7": 12, "song 9": 1}
    expected = model.recommend(history=known, n=4).to_frame()
    assert told["user"] is None
    assert told["unknown_items"] == ["nowhere"]
    assert [one["item"] for one in told["items"]] == expected["item"].to_list()
    assert [one["sessions"] for one in told["items"]] == expected["sessions"].to_list()
    why = model.explain(None, "song 0", history=known)
    sessions = {ITEMS[place]: value for place, value in zip(why.items, why.sessions, strict=True)}
    assert [(one["item"], one["count"]) for one in told["history"]] == [("song 7", 12), ("song 9", 1)]
    assert {one["item"]: one["sessions"] for one in told["history"]} == sessions


def test_a_count_that_comes_up_twice_is_summed(asking: Client) -> None:
    twice = [{"item": "song 7", "count": 5}, {"item": "NAME OF SONG 7", "count": 7}]
    once = post(asking, "/api/recommend", {"history": {"song 7": 12}})
    assert post(asking, "/api/recommend", {"history": twice}) == once
    too_much = [{"item": "song 7", "count": 2**31 - 1}, {"item": "song 7", "count": 1}]
    assert "add up to more" in post(asking, "/api/recommend", {"history": too_much}, 422)["error"]["message"]


def test_a_history_of_nothing_known_gets_what_is_popular(asking: Client, model: FittedModel) -> None:
    expected = model.recommend(history={}, n=10)
    for body in ({"history": {}}, {"history": {"nowhere": 3}}, {"user": "zoe", "popular": True}):
        told = post(asking, "/api/recommend", body)
        assert [one["item"] for one in told["items"]] == next(iter(expected)).tolist()


def test_a_known_user_with_a_history_is_who_the_history_says(asking: Client) -> None:
    told = post(asking, "/api/recommend", {"user": "alice", "history": {"song 7": 12}})
    mere = post(asking, "/api/recommend", {"history": {"song 7": 12}})
    assert told.pop("user") == "alice"
    assert mere.pop("user") is None
    assert told == mere


def test_lists_of_several_users(asking: Client, model: FittedModel) -> None:
    told = post(asking, "/api/recommend", {"users": ["alice", "../../etc/passwd"], "n": 3})
    assert [one["user"] for one in told["lists"]] == ["alice", "../../etc/passwd"]
    for one in told["lists"]:
        assert one["items"] == get(asking, "/api/recommend", user=one["user"], n=3)["items"]
    popular = post(asking, "/api/recommend", {"users": ["alice", "zoe"], "n": 3, "popular": True})
    assert popular["lists"][1]["user"] == "zoe"
    assert popular["lists"][1]["items"] == post(asking, "/api/recommend", {"history": {}, "n": 3})["items"]
    assert post(asking, "/api/recommend", {"users": ["alice", "zoe"]}, 404)["error"]["kind"] == "unknown_id"


def test_items_are_allowed_and_denied_by_id_or_name(asking: Client, model: FittedModel) -> None:
    for deny in (["song 7", "Name of song 9", "nowhere"], []):
        body = {"user": "alice", "n": 24, "allow": ["song 7", "song 9", "song 11", "gone"], "deny": deny}
        told = post(asking, "/api/recommend", body)
        places = ["song 7", "song 9", "song 11"] if not deny else ["song 11"]
        expected = model.recommend(["alice"], n=24, allow=places).to_frame()
        assert [(one["item"], one["sessions"]) for one in told["items"]] == expected["item", "sessions"].rows()
        assert told["unknown_items"] == (["gone", "nowhere"] if deny else ["gone"])
    assert post(asking, "/api/recommend", {"user": "alice", "allow": []})["items"] == []


@pytest.mark.parametrize("body", [{"user": "alice"}, {"history": {"song 0": 40, "song 2": 1, "song 7": 3}}])
def test_reasons_add_up_to_the_score(asking: Client, body: dict[str, Any]) -> None:
    told = post(asking, "/api/recommend", body | {"n": 5, "why": 2, "exclude_seen": False})
    for one in told["items"]:
        why = one["why"]
        assert 1 <= len(why["history"]) <= 2
        assert len(why["components"]) == 2
        parts = sum(part["part"] for part in why["history"]) + why["rest"] + why["prior"]
        assert parts == pytest.approx(one["sessions"], rel=1e-5)
        whole = post(asking, "/api/explain", body | {"item": one["item"]})
        assert whole["score"] == pytest.approx(one["sessions"], rel=1e-5)
        assert whole["history"][:2] == why["history"]
        by_component = sum(part["part"] for part in whole["components"]) + whole["excited"]
        assert by_component == pytest.approx(whole["score"])


def test_an_explanation_is_that_of_the_model(asking: Client, model: FittedModel) -> None:
    told = get(asking, "/api/explain", user="alice", item="Name of song 9")
    why = model.explain("alice", "song 9").to_dict()
    for name in ("user", "item", "name", "score", "prior", "excited", "history"):
        assert told[name] == why[name]
    assert [(one["number"], one["part"]) for one in told["components"]] == [
        (one["component"], one["part"])
        for one in why["components"]  # type: ignore[attr-defined]
    ]


def test_predictions_are_those_of_the_model(asking: Client, model: FittedModel) -> None:
    told = post(asking, "/api/predict", {"user": "alice", "items": ["song 9", "nowhere", "Name of song 7"]})
    expected = model.predict_pairs("alice", ["song 9", "song 7"]).to_frame()
    assert told["unknown_items"] == ["nowhere"]
    fields = {"sessions_low": "low", "sessions_high": "high"}
    for name in ("item", "name", "sessions", "count", "probability", "sessions_low", "sessions_high"):
        assert [one[fields.get(name, name)] for one in told["items"]] == expected[name].to_list()
    fresh = post(asking, "/api/predict", {"history": {"song 7": 12}, "items": ["song 9"]})
    assert fresh["items"][0]["sessions"] == model.predict_pairs(None, "song 9", history={"song 7": 12}).sessions[0]


def test_a_user_is_told_with_counts_and_sessions(asking: Client, model: FittedModel) -> None:
    told = get(asking, "/api/user", id="alice", n=3)
    assert model.history is not None
    sessions = model.sessions()[[0]].toarray()[0]
    counts = model.history[[0]].toarray()[0]
    assert (told["entries"], told["total"]) == ((counts > 0).sum(), counts.sum())
    assert told["sessions"] == pytest.approx(sessions.sum())
    order = np.lexsort((-counts, -sessions))[:3]
    assert [one["item"] for one in told["history"]] == [ITEMS[place] for place in order]
    assert [one["sessions"] for one in told["history"]] == pytest.approx(sessions[order])
    shares = [one["share"] for one in told["components"]]
    assert sum(shares) == pytest.approx(1.0)
    assert shares == sorted(shares, reverse=True)


def test_an_item_is_told_with_who_has_it(asking: Client, model: FittedModel) -> None:
    told = get(asking, "/api/item", id=HOSTILE)
    assert model.history is not None
    column, sessions = model.history[:, [1]].toarray()[:, 0], model.sessions()[:, [1]].toarray()[:, 0]
    assert (told["id"], told["name"]) == (HOSTILE, f"Name of {HOSTILE}")
    assert (told["users"], told["total"]) == ((column > 0).sum(), column.sum())
    assert {one["user"]: one["count"] for one in told["listeners"]} == {
        USERS[u]: y for u, y in enumerate(column.tolist()) if y
    }
    for one in told["listeners"]:
        assert one["sessions"] == pytest.approx(sessions[USERS.index(one["user"])])
    assert told["similar"] == get(asking, "/api/similar/items", item=HOSTILE, n=12)["items"]
    strengths = [one["strength"] for one in told["excited_by"]]
    assert strengths == sorted(strengths, reverse=True)
    assert len(strengths) > 0
    popular = {one.id: one.sessions for one in model.describe(1, 24).most_popular}
    assert told["expected_sessions"] == pytest.approx(popular[HOSTILE])
    excitation = model.part("excitation")
    brought = float((excitation.strength.T @ excitation.mass)[1])
    assert told["excited"] == pytest.approx(brought / told["expected_sessions"], rel=1e-4) != 0.0


def test_similar_items_and_users_are_those_of_the_model(asking: Client, model: FittedModel) -> None:
    items = get(asking, "/api/similar/items", item="Name of song 9", n=4)
    expected = model.similar_items("song 9", n=4).to_frame()
    assert [(one["item"], one["similarity"]) for one in items["items"]] == expected["item", "similarity"].rows()
    users = get(asking, "/api/similar/users", user="alice", n=4)
    expected = model.similar_users("alice", n=4).to_frame()
    assert [(one["user"], one["similarity"]) for one in users["users"]] == expected["user", "similarity"].rows()


def test_components_are_told_with_who_leans_on_them(asking: Client, model: FittedModel) -> None:
    told, factors = get(asking, "/api/components")["components"], model.part("factors")
    leaning = np.argmax(factors.user_means * factors.items.H.sum(axis=0, dtype=np.float64), axis=1)
    assert {one["number"]: one["users"] for one in told} == dict(enumerate(np.bincount(leaning, minlength=3)))
    for one, expected in zip(told, model.describe(3, 8).largest_components, strict=True):
        assert one["number"] == expected.number
        assert one["share"] == pytest.approx(expected.share)
        assert [item["item"] for item in one["items"]] == [item.id for item in expected.items]
    full = get(asking, "/api/component", number=1, n=24)
    assert sum(one["share"] for one in full["items"]) == pytest.approx(1.0)
    assert get(asking, "/api/component", 404, number=3)["error"]["kind"] == "unknown_id"


def test_the_card_has_all_of_the_description_and_no_path(asking: Client, model: FittedModel) -> None:
    told = get(asking, "/api/model")
    expected = model.describe().to_dict()
    for name in expected:
        assert told[name] == expected[name], name
    assert told["file"].keys() == {"name", "bytes", "format", "dcpf"}
    assert told["file"]["name"] == "plays.safetensors"
    assert told["pmf"]["x"][:3] == [1, 2, 3]
    assert told["pmf"]["probability"] == pytest.approx(model.element.pmf(told["pmf"]["x"]))
    assert 0.998 < told["pmf"]["at_most"][-1] <= 1.0
    curve = told["curve"]
    assert (curve["count"][0], curve["count"][-1]) == (1, expected["data"]["largest"])
    assert curve["sessions"][0] == 1.0
    assert all(1.0 <= n <= y for n, y in zip(curve["sessions"], curve["count"], strict=True))
    assert all(one < other for one, other in zip(curve["sessions"], curve["sessions"][1:], strict=False))
    revision = asking.get("/api/users").headers["x-model-revision"]
    assert told["revision"] == revision == get(asking, "/readyz")["revision"]


def test_the_check_is_made_in_the_background_once(asking: Client) -> None:
    told = asking.get("/api/check")
    for _ in range(2000):
        if told.status_code == 200:
            break
        assert (told.status_code, told.json()) == (202, {"state": "computing"})
        told = asking.get("/api/check")
    assert told.json()["state"] == "ready"
    assert told.json()["users"] == 30
    assert sum(one["data"] for one in told.json()["ranges"]) == told.json()["nonzeros"]["data"]
    assert asking.get("/api/check").json() == told.json()


def test_searches_find_ids_and_names(asking: Client) -> None:
    users = get(asking, "/api/users", search="USER 1")
    assert {one["id"] for one in users["users"]} == {f"user {u}" for u in range(10, 20)}
    assert not users["more"]
    active = get(asking, "/api/users", limit=5)
    assert active["more"]
    entries = [one["entries"] for one in active["users"]]
    assert entries == sorted(entries, reverse=True)
    assert get(asking, "/api/users", search="etc/pass")["users"][0]["id"] == "../../etc/passwd"
    found = get(asking, "/api/items", search="STRASSE")["items"]
    assert [(one["id"], one["name"]) for one in found] == [("song 6", "Ünïcode Straße")]
    assert get(asking, "/api/items", search="song 9")["items"][0]["id"] == "song 9"
    assert get(asking, "/api/items", search="nothing like it") == {"items": [], "more": False}


def test_a_name_with_several_owners_is_an_error_that_lists_them(asking: Client) -> None:
    message = get(asking, "/api/item", 422, id="Twice")["error"]["message"]
    assert "'song 3'" in message
    assert "'song 4'" in message
    assert get(asking, "/api/item", id="twice")["id"] == "song 5"
    assert "3 items" in get(asking, "/api/item", 422, id="TWICE")["error"]["message"]


def test_integer_ids_are_found_by_their_digits_and_come_back_as_integers(numbered: Client) -> None:
    told = get(numbered, "/api/recommend", user="103", n=2)
    assert told["user"] == 103
    assert all(isinstance(one["item"], int) and one["name"] == str(one["item"]) for one in told["items"])
    assert told["items"] == post(numbered, "/api/recommend", {"user": 103, "n": 2})["items"]
    by_text = post(numbered, "/api/recommend", {"history": {"503": 2}})
    assert by_text == post(numbered, "/api/recommend", {"history": [{"item": 503, "count": 2}]})
    assert get(numbered, "/api/user", 404, id="0103")["error"]["kind"] == "unknown_id"
    assert next(one["id"] for one in get(numbered, "/api/users", search="11")["users"][:1]) in range(110, 120)


def test_the_binary_element_knows_no_counts(numbered: Client) -> None:
    card = get(numbered, "/api/model")
    assert card["pmf"] is card["mean"] is card["deviation"] is None
    assert set(card["curve"]["sessions"]) == {1.0}
    assert all(one["count"] is None for one in get(numbered, "/api/recommend", user="103")["items"])
    assert post(numbered, "/api/predict", {"user": 103, "items": [500]})["items"][0]["count"] is None


def test_a_model_without_its_counts_says_what_it_cannot_tell(bare: Client) -> None:
    for path, query in (
        ("/api/recommend", {"user": "alice"}),
        ("/api/user", {"id": "alice"}),
        ("/api/explain", {"user": "alice", "item": "song 3"}),
    ):
        told = get(bare, path, 409, **query)
        assert told["error"]["kind"] == "no_history"
        assert "post a history" in told["error"]["message"]
    assert get(bare, "/api/check") == {
        "state": "unavailable",
        "reason": "the model was saved without its training counts",
    }
    assert len(get(bare, "/api/recommend", user="alice", exclude_seen=False)["items"]) == 10
    assert len(post(bare, "/api/recommend", {"history": {"song 3": 2}, "why": 1})["items"]) == 10
    assert post(bare, "/api/predict", {"user": "alice", "items": ["song 3"]})["items"][0]["sessions"] > 0.0
    assert get(bare, "/api/users", limit=1)["users"][0]["entries"] is None
    item = get(bare, "/api/item", id="song 3")
    assert (item["users"], item["total"], item["listeners"], item["excited_by"]) == (None, None, [], [])
    assert get(bare, "/api/model")["sessions_per_count"] is None


def test_who_asks_in_a_wrong_way_is_told_the_right_one(asking: Client) -> None:
    assert "/openapi.json lists" in get(asking, "/api/recommendations", 404)["error"]["message"]
    assert "/openapi.json lists" in get(asking, "/api/predict", 405)["error"]["message"]
    for headers in ({}, {"Content-Type": "application/x-www-form-urlencoded"}):  # the second is what curl -d sends
        answer = asking.post("/api/recommend", content=b'{"user": "alice"}', headers=headers)
        assert answer.status_code == 200 or "Content-Type: application/json" in answer.json()["error"]["message"]
    assert answer.status_code == 422
