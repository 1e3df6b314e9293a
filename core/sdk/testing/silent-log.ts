import type { Logger } from '../context.js';

/** A log for what a test does not look at. */
export const silentLog: Logger = { trace() {}, debug() {}, info() {}, warn() {}, error() {} };
