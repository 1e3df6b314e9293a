import { randomFillSync } from 'node:crypto';
import { context, ProxyTracerProvider, type Span, SpanStatusCode, TraceFlags, trace } from '@opentelemetry/api';
import type { TraceContext } from '../sdk/context.js';
import type { SpanHandle, Tracing } from './types.js';

// Random bytes are drawn in blocks: one call per id would cost a microsecond each.
const block = Buffer.allocUnsafe(4_096);
let used = block.length;

function randomHex(bytes: number): string {
  if (used + bytes > block.length) {
    randomFillSync(block);
    used = 0;
  }
  const hex = block.toString('hex', used, used + bytes);
  used += bytes;
  return hex;
}

const requestIdGrammar = /^[A-Za-z0-9._:-]{1,128}$/;

/** `corr-` and 16 hex digits. Always made here, one per request. */
export function newCorrelationId(): string {
  return `corr-${randomHex(8)}`;
}

/** The client's request id when it is well formed, else `req-` and 16 hex digits. */
export function acceptRequestId(given: string | undefined): string {
  return given !== undefined && requestIdGrammar.test(given) ? given : `req-${randomHex(8)}`;
}

/** 32 hex digits, never all zero. */
export function newTraceId(): string {
  const id = randomHex(16);
  return /^0+$/.test(id) ? newTraceId() : id;
}

/** 16 hex digits, never all zero. */
export function newSpanId(): string {
  const id = randomHex(8);
  return /^0+$/.test(id) ? newSpanId() : id;
}

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

/** A new trace. */
export function newTraceContext(sampled: boolean): TraceContext {
  return { traceId: newTraceId(), spanId: newSpanId(), sampled };
}

const scope = 'mortise';

type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

function providerRegistered(): boolean {
  const provider = trace.getTracerProvider();
  return !(provider instanceof ProxyTracerProvider) || provider.getDelegateTracer(scope) !== undefined;
}

function errorCode(error: unknown): string {
  if (typeof error !== 'object' || error === null) return 'error';
  const code: unknown = Reflect.get(error, 'code');
  return typeof code === 'string' ? code : error instanceof Error ? error.name : 'error';
}

function handle(span: Span): SpanHandle {
  const facts = span.spanContext();
  return {
    trace: {
      traceId: facts.traceId,
      spanId: facts.spanId,
      sampled: (facts.traceFlags & TraceFlags.SAMPLED) !== 0,
    },
    set(name, value) {
      span.setAttribute(name, value);
    },
    run: (work) => context.with(trace.setSpan(context.active(), span), work),
    end(error) {
      if (error !== undefined) {
        const code = errorCode(error);
        span.setAttribute('error.type', code);
        span.setStatus({ code: SpanStatusCode.ERROR, message: code });
      }
      span.end();
    },
  };
}

/**
 * Spans through the OpenTelemetry API. Without a provider nothing is recorded, at no cost; a user registers one
 * with `NODE_OPTIONS=--import ./tracing.mjs`.
 */
export function createTracing(): Tracing {
  function startWithin(parent: TraceContext | undefined, name: string, attributes: SpanAttributes | undefined) {
    const parentContext = parent && {
      traceId: parent.traceId,
      spanId: parent.spanId,
      traceFlags: parent.sampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
      isRemote: true,
    };
    const within =
      parentContext === undefined ? context.active() : trace.setSpanContext(context.active(), parentContext);
    const span = trace.getTracer(scope).startSpan(name, attributes === undefined ? {} : { attributes }, within);
    return span.isRecording() ? handle(span) : undefined;
  }

  return {
    get enabled() {
      return providerRegistered();
    },
    incoming(traceparent) {
      return parseTraceparent(traceparent) ?? newTraceContext(providerRegistered());
    },
    begin(name, traceparent, attributes) {
      const continued = parseTraceparent(traceparent);
      const span = providerRegistered() ? startWithin(continued, name, attributes) : undefined;
      return { trace: span?.trace ?? continued ?? newTraceContext(false), span };
    },
    start(name, parent, attributes) {
      if (!parent.sampled || !providerRegistered()) return undefined;
      return startWithin(parent, name, attributes);
    },
  };
}
