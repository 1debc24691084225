"""The site is built with warnings as errors, loads nothing from elsewhere, and its links lead somewhere."""

import os
import re
import runpy
import subprocess
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


@dataclass
class Page(HTMLParser):
    """What a page loads by itself, where it links to, and the places in it that can be linked to."""

    loads: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, path: Path) -> "Page":
        page = cls()
        HTMLParser.__init__(page)
        page.feed(path.read_text())
        return page

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.ids |= {given["id"]} if "id" in given else set()
        self.loads += [given[name] for name in ("src", "srcset", "poster", "data") if name in given]
        if "href" in given:
            (self.links if tag == "a" else self.loads).append(given["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-n", "-q", "-d", folder / "read", DOCS]
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    built = subprocess.run([*command, folder / "html"], env=environment, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return folder / "html"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page.of(path) for path in sorted(site.rglob("*.html"))}


def test_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[Path, Page]) -> None:
    assert len(pages) > 25
    for path, page in pages.items():
        elsewhere = [one for one in page.loads if re.match(r"(\w+:)?//", one)]
        assert elsewhere == [], path
    for style in site.rglob("*.css"):
        assert re.findall(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//", style.read_text()) == [], style


def test_links_within_the_site_lead_somewhere(pages: dict[Path, Page]) -> None:
    followed = 0
    for path, page in pages.items():
        for link in page.links:
            there = urlsplit(link)
            if there.scheme or there.netloc:
                continue
            target = (path.parent / unquote(there.path)).resolve() if there.path else path
            assert target.exists(), f"{path.name}: {link}"
            if there.fragment and target in pages:
                assert unquote(there.fragment) in pages[target].ids, f"{path.name}: {link}"
            followed += 1
    assert followed > 500


def test_links_between_files_of_the_repository_lead_somewhere() -> None:
    """For those who read the pages there, and not on the site."""
    files = [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]
    links = [(file, link) for file in files for link in re.findall(r"\]\(([^)#\s]+)", file.read_text())]
    assert len(links) > 80
    for file, link in links:
        assert link.startswith("http") or (file.parent / link).exists(), f"{file.name}: {link}"


def test_formulas_are_mathml_and_every_command_and_public_name_has_its_place(pages: dict[Path, Page]) -> None:
    import dcpf
    from dcpf.cli.main import app

    by_name = {path.name: path for path in pages}
    assert by_name["equations.html"].read_text().count("<math") > 200
    commands = {command.name or command.callback.__name__ for command in app.registered_commands}
    assert {f"dcpf-{name}" for name in commands} <= pages[by_name["commands.html"]].ids
    ids = set().union(*(page.ids for path, page in pages.items() if path.parent.name == "api"))
    assert {f"dcpf.{name}" for name in dcpf.__all__} - ids == {
        "dcpf.__version__",
        "dcpf.distributed",
        "dcpf.elements",
    }


def test_every_example_is_a_file_that_is_run_and_shown_on_a_page() -> None:
    shown, written = set(), {}
    for page in DOCS.rglob("*.md"):
        text = page.read_text()
        shown |= {Path(name).name for name in re.findall(r"\{literalinclude\} (\S+)", text)}
        written |= {page.name: text.count("\n```python\n")} if "\n```python\n" in text else {}
    # The calls of LensKit and of Spark; a client of a service that is there
    assert written == {"coming-from.md": 2, "service.md": 1}
    assert {path.name for path in (DOCS / "examples").iterdir() if path.is_file()} == shown


def test_the_pages_show_the_figures_that_the_program_draws(tmp_path: Path) -> None:
    """Bytes depend on the version of matplotlib, and are not compared."""
    runpy.run_path(str(DOCS / "figures" / "draw.py"), run_name="imported")["main"](tmp_path)
    drawn = {path.name for path in tmp_path.iterdir()}
    used = set(re.findall(r"\(figures/(\w+\.svg)\)", "".join(page.read_text() for page in DOCS.glob("*.md"))))
    assert drawn == used == {path.name for path in (DOCS / "figures").glob("*.svg")}
