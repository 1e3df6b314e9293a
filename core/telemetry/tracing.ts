import { context, ProxyTracerProvider, type Span, SpanStatusCode, TraceFlags, trace } from '@opentelemetry/api';
import type { TraceContext } from '../sdk/index.js';
import { newTraceContext, parseTraceparent } from './traceparent.js';
import type { SpanHandle, Tracing } from './types.js';

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
 * Spans through the OpenTelemetry API. Without a provider nothing is recorded and nothing is paid; a user registers one
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
