"""A camera on the network: GStreamer's RTSP server, which sends the pictures 0.jpg, 1.jpg ... of a folder over and over.

    python3 rtsp_server.py FOLDER PORT        0 takes a free one

Prints the address as soon as it serves; ends with its standard input.
"""

import sys
from pathlib import Path

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import GLib, Gst, GstRtspServer  # noqa: E402


def main() -> None:
    folder, port = Path(sys.argv[1]), sys.argv[2]
    Gst.init(None)
    server = GstRtspServer.RTSPServer(address="127.0.0.1", service=port)
    factory = GstRtspServer.RTSPMediaFactory(shared=True)
    factory.set_launch(
        f"( multifilesrc location={folder}/%d.jpg loop=true caps=image/jpeg,framerate=10/1 ! jpegdec ! identity sync=true"
        " ! jpegenc ! rtpjpegpay name=pay0 )"
    )
    server.get_mount_points().add_factory("/camera", factory)
    if not server.attach(None):
        sys.exit(f"port {port} is taken")
    loop = GLib.MainLoop()
    GLib.io_add_watch(0, GLib.IO_IN | GLib.IO_HUP, lambda *_: loop.quit())
    print(f"rtsp://127.0.0.1:{server.get_bound_port()}/camera", flush=True)
    loop.run()


if __name__ == "__main__":
    main()
