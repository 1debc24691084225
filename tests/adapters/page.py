"""The examples of a page, by the heading that they stand under."""

import re
from pathlib import Path

DOCS = Path(__file__).parent.parent.parent / "docs"


def examples(heading: str, page: str = "adapters.md") -> list[str]:
    """The Python of a section."""
    section = (DOCS / page).read_text().split(f"## {heading}")[1].split("\n## ")[0]
    found = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    assert found, heading
    return found
