import type { TraceContext } from 'mortise/sdk';
import { type JsonObject, member } from './json.js';
import type { Headers } from './names.js';

const traceparent = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** The trace that `_meta` continues, when no header does (the host has read that already). */
export function traceOf(headers: Headers, meta: JsonObject): TraceContext | undefined {
  const text = member(meta, 'traceparent');
  if (headers.traceparent !== undefined || typeof text !== 'string') return undefined;
  const [, traceId, spanId, flags] = traceparent.exec(text) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}
