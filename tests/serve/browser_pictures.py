"""Take the pictures of docs/page.md again.

python -m tests.serve.browser_pictures lastfm.safetensors [--output docs/figures]

The model is that of the README: the plays of Last.fm by artist, with the names of the artists. Needs chromium and
playwright, and makes the pictures smaller with pngquant where that is installed.
"""

import argparse
import shutil
import subprocess
from pathlib import Path
from typing import Any

from tests.serve.browser import browsing, served

WIDE = {"viewport": {"width": 1200, "height": 800}, "device_scale_factor": 1.5}
PHONE = {"viewport": {"width": 375, "height": 812}, "device_scale_factor": 2, "color_scheme": "dark"}
PICTURES: dict[str, tuple[str, dict[str, Any], int]] = {  # view, kind of screen, height of the picture
    "user": ("/user?id=150", WIDE, 1500),
    "what-if": ("/what-if?user=150&item=283&count=2000", WIDE, 1180),
    "item": ("/item?id=418", WIDE, 1330),
    "components": ("/components", WIDE, 1050),
    "model": ("/model", WIDE, 2120),
    "phone": ("/user?id=150", PHONE, 1400),
}


def take(browser: Any, address: str, folder: Path) -> None:
    """One picture of each view."""
    for name, (view, screen, height) in PICTURES.items():
        context = browser.new_context(reduced_motion="reduce", **screen)
        page = context.new_page()
        page.goto(address)
        page.wait_for_selector("main h1")
        page.evaluate("view => { document.querySelector('main h1').remove(); location.hash = view }", view)
        page.wait_for_selector("main h1")
        if name == "user":
            page.locator("summary").nth(1).click()  # why the second is there
        if name == "model":
            page.locator(".findings li").first.wait_for(timeout=120_000)
        page.evaluate("document.activeElement.blur()")
        page.wait_for_timeout(500)
        path = folder / f"page-{name}.png"
        clip = {"x": 0, "y": 0, "width": screen["viewport"]["width"], "height": height}
        page.screenshot(path=path, full_page=True, clip=clip)
        context.close()
        if program := shutil.which("pngquant"):
            subprocess.run([program, "--force", "--ext", ".png", "--strip", "128", path], check=True)
        print(f"{path}: {path.stat().st_size / 1e3:.0f} kB")  # noqa: T201


def main() -> None:
    """Serve the model, and look at it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="the file of the model")
    parser.add_argument("--output", type=Path, default=Path("docs/figures"), help="the folder to write to")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    with served(arguments.model) as address, browsing() as browser:
        take(browser, address, arguments.output)


if __name__ == "__main__":
    main()
