"""The page in a real browser, on a small model that is really served."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from tests.serve.browser import HOSTILE, LONG, TOKEN, Seen, browsing, chromium, fitted, served

from dcpf import DCPF

VIEWS = (
    "/user",
    "/user?id=alice",
    "/what-if",
    "/what-if?user=bob&item=i3&count=40",
    "/item",
    "/item?id=i0",
    "/item?id=i1",
    "/components",
    "/component?number=1",
    "/model",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    try:
        chromium()
    except RuntimeError as missing:
        if os.environ.get("CI"):  # where these tests must run
            pytest.fail(str(missing))
        pytest.skip(str(missing))
    with browsing() as started:
        yield started


@pytest.fixture(scope="module")
def model(browser: Any) -> DCPF:
    return fitted()


@pytest.fixture(scope="module")
def address(model: DCPF, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    path = tmp_path_factory.mktemp("page") / "plays.safetensors"
    model.save(path)
    with served(path) as printed:
        yield printed


class Visit:
    """A page that was opened at the address which the service printed, and what went on in it."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        self.context = browser.new_context(**({"reduced_motion": "reduce"} | options))
        self.context.set_default_timeout(30_000)
        self.page = self.context.new_page()
        self.seen = Seen(self.page)
        self.base = address.partition("#")[0]
        self.page.goto(address)
        self.page.wait_for_selector("main h1")

    def to(self, view: str) -> Any:
        """Go to a view, as a link would, and wait for it."""
        self.page.evaluate("document.querySelector('main h1')?.remove()")
        self.page.evaluate("view => { location.hash = view }", view)
        self.page.wait_for_selector("main h1")
        return self.page


@pytest.fixture
def visit(browser: Any, address: str) -> Iterator[Visit]:
    visiting = Visit(browser, address)
    yield visiting
    visiting.context.close()
    assert visiting.seen.errors == []
    assert visiting.seen.hosts == {urlsplit(address).netloc}


def numbers(page: Any, selector: str) -> list[float]:
    return [float(text.replace(",", "")) for text in page.locator(selector).all_inner_texts()]


def recommended(page: Any) -> list[str]:
    found: list[str] = page.locator("ol.recommended > li").evaluate_all("rows => rows.map(row => row.dataset.item)")
    return found


def test_a_user_is_found_and_shown_as_the_model_sees_them(visit: Visit, model: DCPF) -> None:
    page = visit.page
    page.get_by_role("combobox", name="Find a user by id").fill("ali")
    page.get_by_role("option", name=re.compile("alice")).click()
    page.wait_for_function("() => document.querySelector('h1').textContent === 'User alice'")
    assert page.url.endswith("#/user?id=alice")
    row = model.history_[[model.users_.find("alice")]]
    counted = numbers(page, "li .counted-figure")
    assert counted == sorted(row.data.tolist(), reverse=True)[: len(counted)]
    read = model.sessions()[[model.users_.find("alice")]].data
    assert numbers(page, "li .read-figure")[0] == pytest.approx(read[row.data.argmax()], abs=0.006)
    items, _ = model.recommend("alice", n=15)
    assert recommended(page) == list(items)
    page.locator("summary").first.click()
    for column in page.locator("details[open] .shares").all():  # both add up to the score
        told = [float(text.strip("<%")) for text in column.locator(".figure").all_inner_texts()]
        assert sum(told) == pytest.approx(100.0, abs=0.5 * len(told) + 1.0)
    assert page.locator("details[open] .shares").count() == 2


def test_a_bar_is_as_long_as_the_count_and_its_colour_as_short_as_the_sessions(visit: Visit) -> None:
    page = visit.to("/user?id=alice")
    widths = "bars => bars.map(bar => [...bar.children].map(part => part.getBoundingClientRect().width))"
    drawn = page.locator("li .reading").evaluate_all(widths)
    counts, sessions = numbers(page, "li .counted-figure"), numbers(page, "li .read-figure")
    assert counts[0] == 400.0
    assert drawn[0][1] < 0.6 * drawn[0][0]
    for (grey, colour), count, read in zip(drawn, counts, sessions, strict=True):
        assert colour <= grey + 0.5 or read > count
    assert [grey for grey, _ in drawn] == sorted((grey for grey, _ in drawn), reverse=True)


def test_what_if_follows_each_change_and_keeps_it_in_the_address(visit: Visit, model: DCPF) -> None:
    page = visit.to("/what-if")
    assert page.get_by_text("Nothing yet").is_visible()
    popular = recommended(page)
    field = page.get_by_role("combobox", name="Add an item")
    field.fill("Nina")
    field.press("Enter")
    page.wait_for_function(
        "before => document.querySelector('ol.recommended > li').dataset.item !== before", arg=popular[0]
    )
    assert page.url.endswith("#/what-if?item=i2&count=10")
    page.get_by_role("spinbutton", name="Count of Nina Simone").fill("500")
    page.wait_for_url("**item=i2&count=500")
    expected, _ = model.recommend(history={"i2": 500}, n=12)
    rows = "[...document.querySelectorAll('ol.recommended > li')]"
    shown = f"wanted => {rows}.map(row => row.dataset.item).join() === wanted"
    page.wait_for_function(shown, arg=",".join(expected))
    page.reload()
    page.wait_for_function(shown, arg=",".join(expected))
    assert numbers(page, ".trial li .read-figure")[0] > 1.0
    page.get_by_role("button", name="Take Nina Simone away").click()
    page.wait_for_function(shown, arg=",".join(popular))
    page.go_back()
    page.wait_for_function(shown, arg=",".join(expected))


def test_what_if_starts_from_a_user_and_tells_what_has_moved(visit: Visit, model: DCPF) -> None:
    has = [str(item) for item in model.items_.at(model.history_[[0]].indices)]
    page = visit.to(f"/what-if?user=alice&item={has[0]}&count=0&item=i23&count=300")
    history = {item: int(count) for item, count in zip(has[1:], model.history_[[0]].data[1:], strict=True)}
    expected, _ = model.recommend(history=history | {"i23": 300}, n=12)
    assert recommended(page) == list(expected)
    assert page.locator(".trial li").count() == len(has)
    assert page.locator(".moved").count() > 0


def test_an_answer_that_comes_late_is_dropped(visit: Visit, model: DCPF) -> None:
    page = visit.to("/what-if?item=i2&count=10")
    held: list[Any] = []
    page.route("**/api/recommend", lambda route: held.append(route) if not held else route.continue_())
    field = page.get_by_role("spinbutton", name="Count of Nina Simone")
    with page.expect_request("**/api/recommend"):
        field.fill("1")
    with page.expect_response("**/api/recommend"):
        field.fill("900")
    page.wait_for_selector("[aria-busy=false] ol.recommended")
    latest = numbers(page, ".trial li .read-figure")
    with page.expect_response("**/api/recommend"):
        held[0].continue_()
    page.wait_for_timeout(100)  # for an answer that should not be shown
    assert numbers(page, ".trial li .read-figure") == latest
    assert latest[0] > 1.0


def test_a_name_is_text_whatever_it_holds(visit: Visit) -> None:
    page = visit.page
    for view in ("/item?id=i0", "/user?id=alice", "/what-if?item=i0&count=5", "/components", "/component?number=0"):
        visit.to(view)
        assert page.get_by_text(HOSTILE).count() > 0, view
    visit.to("/item")
    page.get_by_role("combobox").fill("<img")
    assert page.get_by_role("option").first.inner_text().startswith(HOSTILE)
    assert page.locator("main img").count() == 0
    assert "bold" not in page.locator("main b").all_inner_texts()
    assert page.title() != "owned"


def test_components_that_no_user_leans_on_are_folded(visit: Visit) -> None:
    page = visit.page

    def without_users(route: Any) -> None:
        answer = route.fetch()
        told = answer.json()
        told["components"][-1]["users"] = 0
        route.fulfill(response=answer, json=told)

    page.route("**/api/components", without_users)
    visit.to("/components")
    folded = page.locator("details .cards li")
    assert (folded.count(), folded.first.is_visible()) == (1, False)
    page.get_by_text("1 more that no user leans on").click()
    assert folded.first.is_visible()


def test_an_item_tells_how_much_other_items_bring(visit: Visit) -> None:
    page = visit.to("/item?id=i1")
    assert page.get_by_text(re.compile(r"Other items bring [\d.]+% of the sessions.*among tastes")).count() == 1


def test_a_newer_model_is_noticed_and_shown(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "plays.safetensors"
    fitted().save(path)
    with served(path) as printed:
        visit = Visit(browser, printed)
        page = visit.page
        page.clock.install()
        page.reload()  # so that it looks for a newer model by this clock
        page.wait_for_selector("main h1")
        visit.to("/user?id=alice")
        assert "30 users" in page.locator("#served").inner_text()
        fitted(seed=1, users=36).save(path, history=False)
        for _ in range(300):
            page.clock.fast_forward(15_000)
            page.wait_for_timeout(100)
            if page.locator(".note").count():
                break
        assert "A newer model is served" in page.locator(".note").inner_text()
        page.wait_for_function("() => document.querySelector('#served').textContent.includes('36 users')")
        page.get_by_role("heading", name="This model has no history").wait_for()
        page.get_by_role("link", name="Put a history together").click()
        page.get_by_role("heading", name="What if somebody had").wait_for()
        assert page.locator("ol.recommended > li").count() == 12
        visit.to("/model")
        page.get_by_text("There is no check").wait_for()
        assert [error for error in visit.seen.errors if "409" not in error] == []
        visit.context.close()


def test_everything_can_be_done_from_the_keyboard(visit: Visit) -> None:
    page = visit.page
    page.reload()
    page.wait_for_selector("main h1")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('role')") == "combobox"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("ArrowDown")
    page.wait_for_selector("[role=option]")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    chosen = page.locator("[aria-selected=true] .name").inner_text()
    assert page.evaluate("document.activeElement.getAttribute('aria-activedescendant')").endswith("-0")
    page.keyboard.press("Enter")
    page.wait_for_function("name => document.querySelector('h1').textContent === `User ${name}`", arg=chosen)
    assert page.evaluate("document.activeElement.tagName") == "H1"
    for _ in range(100):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.tagName") == "SUMMARY":
            break
    page.keyboard.press("Enter")
    assert page.locator("details[open]").count() == 1
    page.go_back()
    page.get_by_role("heading", name="Forty plays are not forty votes").wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_view_fits_a_phone_and_can_be_read(browser: Any, address: str, scheme: str) -> None:
    phone = {"viewport": {"width": 375, "height": 740}, "is_mobile": True, "has_touch": True, "color_scheme": scheme}
    visit = Visit(browser, address, **phone)
    page = visit.page
    for view in VIEWS:
        visit.to(view)
        assert page.evaluate("document.documentElement.scrollWidth") <= 375, view
        assert page.locator("h1").inner_text() != "That did not work", view
        paper = luminance(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        assert (paper < 0.1) == (scheme == "dark")
        for selector in ("h1", ".lede", "nav a", ".read-figure", ".figure", "summary", "dt", ".aside"):
            for colour in page.locator(selector).evaluate_all(
                "nodes => nodes.slice(0, 3).map(one => getComputedStyle(one).color)"
            ):
                light, dark = sorted((luminance(colour), paper), reverse=True)
                assert (light + 0.05) / (dark + 0.05) >= 4.5, (view, selector, colour)
    assert visit.seen.errors == []
    visit.context.close()


def luminance(colour: str) -> float:
    """The relative luminance of rgb(r, g, b), as the guidelines for contrast define it."""
    channels = [float(one) / 255.0 for one in re.findall(r"[\d.]+", colour)[:3]]
    linear = [one / 12.92 if one <= 0.03928 else ((one + 0.055) / 1.055) ** 2.4 for one in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_nothing_moves_for_those_who_asked_for_that(visit: Visit, browser: Any, address: str) -> None:
    name = "getComputedStyle(document.querySelector('.reading .read')).animationName"
    assert visit.to("/user?id=alice").evaluate(name) == "none"
    lively = Visit(browser, address, reduced_motion="no-preference")
    assert lively.to("/user?id=alice").evaluate(name) == "shrink"
    lively.context.close()


def test_the_printed_address_opens_the_page_whatever_signs_the_token_has(visit: Visit, address: str) -> None:
    assert TOKEN not in address
    assert unquote(urlsplit(address).fragment) == f"token={TOKEN}"
    visit.to("/user?id=bob").get_by_role("heading", name="User bob").wait_for()


def test_the_token_is_in_no_address_and_no_link(visit: Visit) -> None:
    page = visit.page
    assert page.url == visit.base
    for view in VIEWS[:3]:
        visit.to(view)
        assert TOKEN not in page.url
        assert TOKEN not in page.content()
    page.go_back()
    assert TOKEN not in page.url
    other = visit.context.new_page()  # a link that is opened in a new tab asks the old one
    other.goto(f"{visit.base}#/user?id=bob")
    other.get_by_role("heading", name="User bob").wait_for()


def test_without_a_token_the_page_says_where_to_find_it(browser: Any, address: str) -> None:
    base = address.partition("#")[0]
    visit = Visit(browser, f"{base}#/user?id=bob")
    page = visit.page
    assert page.locator("h1").inner_text() == "This page needs its token"
    page.get_by_label("Token").fill("wrong")
    page.keyboard.press("Enter")
    page.wait_for_function("() => !document.querySelector('#token').value")
    page.get_by_label("Token").fill(TOKEN)
    page.get_by_role("button", name="Open").click()
    page.get_by_role("heading", name="User bob").wait_for()
    assert TOKEN not in page.url
    assert all("401" in error for error in visit.seen.errors)
    visit.context.close()


def test_what_is_not_there_is_said_with_a_way_out(visit: Visit) -> None:
    page = visit.to("/user?id=nobody")
    assert "nobody" in page.locator(".lede").inner_text()
    page.get_by_role("main").get_by_role("link", name="items").click()
    page.get_by_role("heading", name="Items").wait_for()
    assert visit.to("/elsewhere").locator("h1").inner_text() == "There is no such view"
    assert [error for error in visit.seen.errors if "404" not in error] == []
    visit.seen.errors.clear()


def test_a_service_that_is_gone_is_waited_for(visit: Visit) -> None:
    page = visit.page
    page.route("**/api/**", lambda route: route.abort())
    visit.to("/item?id=i3")
    assert page.locator("h1").inner_text() == "The service does not answer"
    page.unroute("**/api/**")
    page.get_by_role("button", name="Try now").click()
    page.get_by_role("heading", name="Song 3").wait_for()
    assert all("ERR_FAILED" in error for error in visit.seen.errors)
    visit.seen.errors.clear()


def test_the_model_is_drawn(visit: Visit) -> None:
    page = visit.to("/model")
    page.locator(".findings li").first.wait_for()
    assert page.locator("figure svg").count() == 4
    for chart in page.locator("figure svg").all():
        assert chart.get_attribute("aria-label")
        assert "NaN" not in (chart.inner_html() or "")
    page.locator("figure svg .area").nth(1).hover()
    assert re.fullmatch(r"a count of \d+: \d+\.\d\d sessions", page.locator(".told").nth(1).inner_text())


def test_long_names_are_cut_where_they_must_and_whole_where_they_can(visit: Visit) -> None:
    page = visit.to("/item?id=i1")
    assert page.locator("h1").inner_text() == LONG
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
