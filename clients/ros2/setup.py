"""For colcon: `colcon build --packages-select posewire_ros2`."""

from setuptools import setup

NAME = "posewire_ros2"

setup(
    name=NAME,
    version="0.1.0",
    packages=[NAME],
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
    ],
    install_requires=["setuptools", "posewire"],
    zip_safe=True,
    maintainer="the Posewire project",
    description="Human poses from a Posewire tracker as ROS 2 messages",
    license="MIT OR Apache-2.0",
    entry_points={"console_scripts": [f"poses = {NAME}.node:main"]},
)
