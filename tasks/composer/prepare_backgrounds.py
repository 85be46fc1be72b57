"""Shrink the background photographs to WebP (run once by hand).

Usage: ``python prepare_backgrounds.py SOURCES OUT`` where SOURCES is a folder with the unpacked scikit-image and
scikit-learn wheels and the Debian packages lomiri-wallpapers-16.04 and -20.04, searched by file name. Only files under
CC0, public domain or CC BY are taken; LICENSES.md in the output folder names each author.
"""

import sys
from pathlib import Path
from typing import Final

from PIL import Image, ImageOps

WIDTH: Final = 640
HEIGHT: Final = 480
WEBP_QUALITY: Final = 78

SOURCES: Final = {
    "aitzgorri": "aitzgorri_by_Aitzol_Berasategi.jpg",
    "astronaut": "astronaut.png",
    "brick": "brick.png",
    "chelsea": "chelsea.png",
    "china": "china.jpg",
    "coffee": "coffee.png",
    "flower": "flower.jpg",
    "freespace-0b": "Picture_0B_by_freespace.jpg",
    "freespace-1a": "Picture_1A_by_freespace.jpg",
    "friends": "friends_by_Aitzol_Berasategi.jpg",
    "life": "life_by_Aitzol_Berasategi.jpg",
    "picosdeeuropa": "picosdeeuropa_by_Aitzol_Berasategi.jpg",
    "rocket": "rocket.jpg",
    "seeding": "seeding_by_Clements_Engelhardt.jpg",
    "sunset": "sunset_by_Aitzol_Berasategi.jpg",
    "umang": "umang_by_Abhishek_Mudgal.jpg",
    "wine": "Wine_by_Jakkub_Mede.jpg",
}

if __name__ == "__main__":
    folder, target = Path(sys.argv[1]), Path(sys.argv[2])
    for name, package_file in SOURCES.items():
        with Image.open(next(folder.rglob(package_file))) as photo:
            cropped = ImageOps.fit(photo.convert("RGB"), (WIDTH, HEIGHT), Image.Resampling.LANCZOS)
        cropped.save(target / f"{name}.webp", quality=WEBP_QUALITY, method=6)
