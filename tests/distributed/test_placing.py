from dcpf.distributed.placing import Places


def test_neighbours_stay_together() -> None:
    places = Places([4] * 12)
    places.deal({"a": 1, "b": 1, "c": 2})
    assert [places.of(one) for one in "abc"] == [[0, 1, 2], [3, 4, 5], [6, 7, 8, 9, 10, 11]]


def test_everybody_has_about_as_many_entries() -> None:
    sizes = [100, 1, 1, 1, 1, 98]
    places = Places(sizes)
    places.deal({"a": 1, "b": 1})
    assert [sum(sizes[number] for number in places.of(one)) for one in "ab"] == [101, 101]


def test_only_orphans_move() -> None:
    places = Places([4] * 12)
    places.deal({"a": 1, "b": 1, "c": 1})
    before = dict(places.worker_of)
    places.adopt({"a", "c", "d"})
    assert all(places.worker_of[number] == worker for number, worker in before.items() if worker != "b")
    assert places.of("d") == [4, 5, 6, 7]  # who has nothing takes them
    assert places.of("b") == []


def test_what_has_moved_is_told() -> None:
    places = Places([4] * 8)
    assert places.deal({"a": 1, "b": 1}) == set(range(8))
    assert places.deal({"a": 1, "b": 1}) == set()
    assert places.deal({"a": 1, "b": 1, "c": 2}) == {2, 3, 4, 5, 6, 7}


def test_more_workers_than_blocks() -> None:
    places = Places([4, 4])
    places.deal({"a": 1, "b": 1, "c": 1, "d": 1})
    assert sorted(places.worker_of) == [0, 1]
    assert len(set(places.worker_of.values())) == 2
