"""Answers from one model, for users known and new, while a newer file may come at any time."""

from pathlib import Path

import dcpf


class Answers:
    """The model in a file; looked at again when the file has changed."""

    def __init__(self, path: str) -> None:
        self.path, self.stamp, self.model = Path(path), -1, None
        self.refresh()

    def refresh(self) -> None:
        stamp = self.path.stat().st_mtime_ns
        if stamp != self.stamp:
            try:
                model = dcpf.load(self.path)  # mapped, so this is quick for a large file, too
            except dcpf.ModelFormatError as error:
                print(f"{error}; the old model stays")
                return
            self.model, self.stamp = model, stamp  # those who are being answered keep the old one

    def answer(self, user: str, history: dict[str, int] | None, n: int = 10) -> list[dict]:
        self.refresh()
        if history:  # all that the user has by now, the last click included
            found = self.model.recommend(user, n=n, history=history)
        else:
            found = self.model.recommend(user, n=n, unknown="popular")
        return found.to_frame().select("item", "sessions", "probability").to_dicts()


answers = Answers("plays.safetensors")
print(answers.answer("Rosa Marshpocket", None, n=2))
print(answers.answer("zoe", {"Emerald Breeze": 3}, n=2))  # seen a second ago
print(answers.answer("nobody", None, n=2))  # what is popular
