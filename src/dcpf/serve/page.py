"""The page and its files, which come with the package and are read once: no request leads to the disk."""

from importlib.resources import files

from fastapi import APIRouter, Response

from dcpf.serve.responses import error_response

_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


def read_files() -> dict[str, tuple[bytes, str]]:
    """The content and the type of each file by name."""
    found = {}
    for one in files("dcpf.serve").joinpath("static").iterdir():
        kind = _TYPES.get(one.name.rpartition(".")[2])
        if one.is_file() and kind is not None:
            found[one.name] = (one.read_bytes(), kind)
    return found


def page() -> APIRouter:
    """The routes of the page. A name is looked up among the files that were read."""
    router, found = APIRouter(include_in_schema=False), read_files()

    def file(name: str) -> Response:
        if name not in found:
            return error_response(404, "there is no such file")
        content, kind = found[name]
        return Response(content, 200, {"cache-control": "no-cache"}, kind)

    @router.head("/")
    @router.get("/")
    async def index() -> Response:
        return file("index.html")

    @router.get("/static/{name}")
    async def static(name: str) -> Response:
        return file(name)

    return router
