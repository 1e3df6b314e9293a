import type { Logger } from '../context.js';

/** A logger that discards everything. */
export const silentLog: Logger = { trace() {}, debug() {}, info() {}, warn() {}, error() {} };
