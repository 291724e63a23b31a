//! The line on the board's own USB cable: to the host a serial port, `/dev/ttyACM0`, for which any baud rate is right.
//!
//! Everything that USB asks for happens at an interrupt's priority, so that the host is answered and bytes are taken while the
//! screen is drawn. Where the ring is full, the host waits: nothing is lost between the two.

use core::convert::Infallible;

use embassy_executor::InterruptExecutor;
use embassy_futures::join::join3;
use embassy_rp::{
    Peri, bind_interrupts,
    interrupt::{self, InterruptExt, Priority},
    peripherals::USB,
    usb::{Driver, InterruptHandler},
};
use embassy_sync::{
    blocking_mutex::raw::CriticalSectionRawMutex,
    pipe::{Pipe, Reader, Writer},
};
use embassy_usb::{
    Builder, Config, UsbDevice,
    class::cdc_acm::{CdcAcmClass, State},
};
use embedded_io_async::{BufRead, ErrorType, ReadReady, Write};
use static_cell::StaticCell;

use crate::{ANSWERS, RING};

bind_interrupts!(struct Interrupts {
    USBCTRL_IRQ => InterruptHandler<USB>;
});

/// Full speed's largest packet.
const PACKET: usize = 64;

type Bus = Driver<'static, USB>;
type Mutex = CriticalSectionRawMutex;

static EXECUTOR: InterruptExecutor = InterruptExecutor::new();

/// Nothing else uses this interrupt: it is raised where USB's tasks have something to do.
#[embassy_rp::interrupt]
// SAFETY: called by this handler alone.
unsafe fn SWI_IRQ_1() {
    // SAFETY: as above.
    unsafe { EXECUTOR.on_interrupt() }
}

/// The main loop's end of the line.
pub struct Line {
    received: Reader<'static, Mutex, RING>,
    to_send: Writer<'static, Mutex, ANSWERS>,
}

/// Shows up on the bus, and begins to receive.
pub fn open(usb: Peri<'static, USB>) -> Line {
    static RECEIVED: StaticCell<Pipe<Mutex, RING>> = StaticCell::new();
    static TO_SEND: StaticCell<Pipe<Mutex, ANSWERS>> = StaticCell::new();
    let (received, to_ring) = RECEIVED.init(Pipe::new()).split();
    let (answers, to_send) = TO_SEND.init(Pipe::new()).split();
    interrupt::SWI_IRQ_1.set_priority(Priority::P3);
    let spawner = EXECUTOR.start(interrupt::SWI_IRQ_1);
    // It is spawned once, so there is room for it.
    if let Ok(task) = serve(usb, to_ring, answers) {
        spawner.spawn(task);
    }
    Line { received, to_send }
}

/// What the host sees; made where it is used, as it may not move between priorities.
fn device(usb: Peri<'static, USB>) -> (UsbDevice<'static, Bus>, CdcAcmClass<'static, Bus>) {
    static STATE: StaticCell<State<'static>> = StaticCell::new();
    static DESCRIPTORS: StaticCell<[[u8; 128]; 2]> = StaticCell::new();
    static CONTROL: StaticCell<[u8; PACKET]> = StaticCell::new();
    // What the Pico's own SDK calls its serial port: every system knows it.
    let mut config = Config::new(0x2e8a, 0x000a);
    config.manufacturer = Some("Posewire");
    config.product = Some("Pose receiver");
    config.max_power = 100;
    let [configuration, bos] = DESCRIPTORS.init([[0; 128]; 2]);
    let control = CONTROL.init([0; PACKET]);
    let bus = Driver::new(usb, Interrupts);
    let mut builder = Builder::new(bus, config, configuration, bos, &mut [], control);
    let class = CdcAcmClass::new(&mut builder, STATE.init(State::new()), PACKET as u16);
    (builder.build(), class)
}

#[embassy_executor::task]
async fn serve(
    usb: Peri<'static, USB>,
    to_ring: Writer<'static, Mutex, RING>,
    mut answers: Reader<'static, Mutex, ANSWERS>,
) {
    let (mut device, class) = device(usb);
    let (mut sender, mut receiver) = class.split();
    let receive = async {
        let mut packet = [0; PACKET];
        loop {
            receiver.wait_connection().await;
            while let Ok(n) = receiver.read_packet(&mut packet).await {
                let mut rest = &packet[..n];
                while !rest.is_empty() {
                    let taken = to_ring.write(rest).await;
                    rest = &rest[taken..];
                }
            }
        }
    };
    let send = async {
        loop {
            let bytes = answers.fill_buf().await;
            // A full packet would tell the host that more belongs to it.
            let n = bytes.len().min(PACKET - 1);
            // Nobody there: answers of a while ago are of no use to whoever comes.
            let _ = sender.write_packet(&bytes[..n]).await;
            answers.consume(n);
        }
    };
    join3(device.run(), receive, send).await;
}

impl ErrorType for Line {
    type Error = Infallible;
}

impl ReadReady for Line {
    fn read_ready(&mut self) -> Result<bool, Infallible> {
        Ok(self.received.try_fill_buf().is_ok())
    }
}

impl embedded_io_async::Read for Line {
    async fn read(&mut self, to: &mut [u8]) -> Result<usize, Infallible> {
        Ok(self.received.read(to).await)
    }
}

impl BufRead for Line {
    async fn fill_buf(&mut self) -> Result<&[u8], Infallible> {
        Ok(self.received.fill_buf().await)
    }

    fn consume(&mut self, n: usize) {
        self.received.consume(n);
    }
}

impl Write for Line {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        Ok(self.to_send.write(bytes).await)
    }

    async fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}
