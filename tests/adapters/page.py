"""The examples of docs/adapters.md, by the heading that they stand under."""

import re
from pathlib import Path

PAGE = (Path(__file__).parent.parent.parent / "docs" / "adapters.md").read_text()


def examples(heading: str) -> list[str]:
    """The Python of a section."""
    section = PAGE.split(f"## {heading}")[1].split("\n## ")[0]
    found = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    assert found, heading
    return found
