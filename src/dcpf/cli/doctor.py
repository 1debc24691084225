"""dcpf doctor: what it runs on, and whether a model file is whole."""

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any

import typer

import dcpf
from dcpf.cli.inputs import Json
from dcpf.cli.output import console, plain, print_json, size
from dcpf.text import plural

_LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn", "polars", "safetensors")


def doctor(
    model: Annotated[
        Path | None, typer.Argument(metavar="MODEL", show_default=False, help="A model file to read and check.")
    ] = None,
    json: Json = False,
) -> None:
    """Show versions, cores and caches, and check a model file."""
    found: dict[str, Any] = {"versions": _versions(), "machine": _machine(), "compiled code": _compiled_code()}
    problem = None if model is None else _problem(model)
    if model is not None:
        found["model"] = {"path": str(model), "ok": problem is None, "problem": problem and str(problem)}
    if json:
        print_json(found)
    else:
        _show(found)
    if problem is not None:
        raise problem


def _versions() -> dict[str, str]:
    versions = {"dcpf": dcpf.__version__, "python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "not installed"
    return versions


def _machine() -> dict[str, Any]:
    from dcpf.kernels.threads import thread_count

    return {"system": platform.platform(), "cores": os.cpu_count(), "threads used": thread_count(None)}


def _compiled_code() -> dict[str, Any]:
    """Where machine code is kept, so that it is compiled only once."""
    import dcpf.model  # noqa: F401 - with all its kernels

    modules = [module for name, module in sys.modules.items() if name.startswith("dcpf.")]
    kernels = [kernel for module in modules for kernel in vars(module).values() if hasattr(kernel, "py_func")]
    paths = {kernel.stats.cache_path for kernel in kernels}
    folders = sorted(Path(path) for path in paths if path is not None)  # None where there is no place for it
    files = [file for folder in folders if folder.is_dir() for file in folder.glob("*.nb[ic]")]
    return {
        "folders": [str(folder) for folder in folders],
        "writable": bool(folders) and all(os.access(_existing(folder), os.W_OK) for folder in folders),
        "files": len(files),
        "bytes": sum(file.stat().st_size for file in files),
    }


def _existing(folder: Path) -> Path:
    """The folder, or the nearest above it that is there."""
    return next(one for one in (folder, *folder.parents) if one.is_dir())


def _problem(model: Path) -> Exception | None:
    """What is wrong with a model file."""
    from dcpf import store

    try:
        store.verify(model)
        dcpf.load(model)
    except (ValueError, OSError) as error:
        return error
    return None


def _show(found: dict[str, Any]) -> None:
    from dcpf.kernels.jit import nowhere_to_keep

    screen = console()
    cache, machine = found["compiled code"], found["machine"]
    for name, value in found["versions"].items():
        screen.print(f"{name:14} {value}")
    screen.print(f"{'system':14} {machine['system']}")
    screen.print(f"{'cores':14} {machine['cores']}, of which {machine['threads used']} are used")
    state = "writable" if cache["writable"] else "not writable: every start compiles anew; set NUMBA_CACHE_DIR"
    files = plural(cache["files"], "file")
    there = f"{files}, {size(cache['bytes'])}, {state}" if cache["folders"] else nowhere_to_keep()
    screen.print(f"{'compiled code':14} {there}", soft_wrap=True)
    for folder in cache["folders"]:
        screen.print(f"{'':14} {plain(folder)}", soft_wrap=True)
    if "model" in found and found["model"]["ok"]:
        screen.print(f"{'model':14} {plain(found['model']['path'])}: ok", soft_wrap=True)
