from dcpf.distributed.blocks import Assignment


def test_neighbours_stay_together() -> None:
    assignment = Assignment([4] * 12)
    assignment.balance({"a": 1, "b": 1, "c": 2})
    assert [assignment.of(one) for one in "abc"] == [[0, 1, 2], [3, 4, 5], [6, 7, 8, 9, 10, 11]]


def test_everybody_has_about_as_many_entries() -> None:
    sizes = [100, 1, 1, 1, 1, 98]
    assignment = Assignment(sizes)
    assignment.balance({"a": 1, "b": 1})
    assert [sum(sizes[number] for number in assignment.of(one)) for one in "ab"] == [101, 101]


def test_only_orphans_move() -> None:
    assignment = Assignment([4] * 12)
    assignment.balance({"a": 1, "b": 1, "c": 1})
    before = dict(assignment.worker_of)
    assignment.reassign_lost({"a", "c", "d"})
    assert all(assignment.worker_of[number] == worker for number, worker in before.items() if worker != "b")
    assert assignment.of("d") == [4, 5, 6, 7]  # who has nothing takes them
    assert assignment.of("b") == []


def test_what_has_moved_is_told() -> None:
    assignment = Assignment([4] * 8)
    assert assignment.balance({"a": 1, "b": 1}) == set(range(8))
    assert assignment.balance({"a": 1, "b": 1}) == set()
    assert assignment.balance({"a": 1, "b": 1, "c": 2}) == {2, 3, 4, 5, 6, 7}


def test_more_workers_than_blocks() -> None:
    assignment = Assignment([4, 4])
    assignment.balance({"a": 1, "b": 1, "c": 1, "d": 1})
    assert sorted(assignment.worker_of) == [0, 1]
    assert len(set(assignment.worker_of.values())) == 2
