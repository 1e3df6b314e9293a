import type { TraceContext } from '../sdk/index.js';
import { newSpanId, newTraceId } from './ids.js';

// https://www.w3.org/TR/trace-context/#traceparent-header: higher versions may append fields, version ff is invalid.
const grammar = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Reads a `traceparent` header; undefined when it is absent or not valid. */
export function parseTraceparent(header: string | undefined): TraceContext | undefined {
  const match = header === undefined ? null : grammar.exec(header.trim());
  if (match === null) return undefined;
  const [, version = '', traceId = '', spanId = '', flags = '', rest] = match;
  if (version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** Writes the header for a call to another system. */
export function formatTraceparent(trace: TraceContext): string {
  return `00-${trace.traceId}-${trace.spanId}-${trace.sampled ? '01' : '00'}`;
}

/** A new trace. */
export function newTraceContext(sampled: boolean): TraceContext {
  return { traceId: newTraceId(), spanId: newSpanId(), sampled };
}
