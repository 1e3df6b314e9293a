import { readFileSync } from 'node:fs';

/**
 * Loaded into a server before its code (`--import`): shifts its wall clock by the milliseconds in a file,
 * which is read twenty times a second. The monotonic clock stays correct, as when an operator sets a machine's clock.
 */
const file = process.env.CHAOS_CLOCK_FILE ?? '';
const rightNow = Date.now;
let shift = 0;

function read(): void {
  shift = Number(readFileSync(file, 'utf8'));
}

read();
setInterval(read, 50).unref();

const ShiftedDate = new Proxy(Date, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [rightNow() + shift] : args, newTarget),
});
ShiftedDate.now = () => rightNow() + shift;
globalThis.Date = ShiftedDate;
