"""Cut the composer's fonts down to its alphabet (run once by hand; needs fontTools and brotli, the package does not).

Usage: ``python prepare_fonts.py SOURCES OUT`` where SOURCES is a folder with the unpacked Debian packages
fonts-noto-cjk, fonts-lxgw-wenkai, fonts-smiley-sans and the npm packages @fontsource/zcool-kuaile,
zcool-qingke-huangyou, arimo, oswald and archivo-black, searched by file name.

The Open Font License forbids a changed font to carry a reserved name, and a subset is a changed font: every file is
renamed, inside and out. LICENSES.md in the output folder says what each was made from.
"""

import sys
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont
from tliveomni_eval.tasks.composer.alphabet import ALPHABET

# Our file name -> (file name in its package, index of the face in a collection).
SOURCES = {
    "hei-regular.otf": ("NotoSansCJK-Regular.ttc", 2),
    "hei-bold.otf": ("NotoSansCJK-Bold.ttc", 2),
    "song-bold.otf": ("NotoSerifCJK-Bold.ttc", 2),
    "kai-bold.ttf": ("LXGWWenKai-Bold.ttf", 0),
    "oblique.ttf": ("SmileySans-Oblique.ttf", 0),
    "playful.ttf": ("zcool-kuaile-chinese-simplified-400-normal.woff2", 0),
    "poster.ttf": ("zcool-qingke-huangyou-chinese-simplified-400-normal.woff2", 0),
    "latin-sans-regular.ttf": ("arimo-latin-400-normal.woff2", 0),
    "latin-sans-bold.ttf": ("arimo-latin-700-normal.woff2", 0),
    "latin-condensed-bold.ttf": ("oswald-latin-700-normal.woff2", 0),
    "latin-black.ttf": ("archivo-black-latin-400-normal.woff2", 0),
}


def cut(source: Path, face: int, out: Path) -> None:
    """Write a font with the alphabet's glyphs only, without hints and layout features, which are not used."""
    font = TTFont(source, fontNumber=face)
    options = subset.Options()
    options.layout_features = ["kern"]
    options.hinting = False
    options.desubroutinize = True
    options.name_IDs = [0, 1, 2, 4, 5, 6, 13, 14]
    options.notdef_outline = True
    options.drop_tables += ["vhea", "vmtx", "VORG", "BASE", "GSUB"]
    cutter = subset.Subsetter(options)
    cutter.populate(text=ALPHABET)
    cutter.subset(font)
    for record in font["name"].names:
        if record.nameID in (1, 4, 6):
            record.string = f"Composer-{out.stem}"
    if "CFF " in font:
        font["CFF "].cff.fontNames = [f"Composer-{out.stem}"]
        top = font["CFF "].cff.topDictIndex[0]
        top.FullName = top.FamilyName = f"Composer-{out.stem}"
    font.flavor = None
    font.save(out)
    missing = sorted(set(ALPHABET) - {chr(code) for code in font.getBestCmap()} - {"\n"})
    print(f"{out.name}: {out.stat().st_size / 1024:.0f} KiB, missing {''.join(missing[:80])!r} ({len(missing)})")


if __name__ == "__main__":
    folder, target = Path(sys.argv[1]), Path(sys.argv[2])
    for name, (package_file, face) in SOURCES.items():
        cut(next(folder.rglob(package_file)), face, target / name)
