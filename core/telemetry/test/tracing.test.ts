import { context, ROOT_CONTEXT, type Span, type SpanContext, type Tracer, trace } from '@opentelemetry/api';
import { expect } from 'chai';
import { MortiseError } from '../../sdk/index.js';
import { acceptRequestId, createTracing, newCorrelationId, parseTraceparent } from '../tracing.js';

const header = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

interface Recorded {
  name: string;
  parent: SpanContext | undefined;
  attributes: Record<string, unknown>;
  status?: unknown;
  ended: boolean;
}

/** A minimal provider, in place of a user's SDK. */
function registerProvider(): { spans: Recorded[]; remove: () => void } {
  const spans: Recorded[] = [];
  let count = 0;
  const tracer: Pick<Tracer, 'startSpan'> = {
    startSpan(name, options, within = ROOT_CONTEXT) {
      const parent = trace.getSpanContext(within);
      const recorded: Recorded = { name, parent, attributes: { ...options?.attributes }, ended: false };
      spans.push(recorded);
      count += 1;
      const own: SpanContext = {
        traceId: parent?.traceId ?? 'a'.repeat(32),
        spanId: count.toString(16).padStart(16, '0'),
        traceFlags: 1,
      };
      const span: Span = {
        spanContext: () => own,
        setAttribute(key, value) {
          recorded.attributes[key] = value;
          return span;
        },
        setAttributes: () => span,
        addEvent: () => span,
        addLink: () => span,
        addLinks: () => span,
        setStatus(status) {
          recorded.status = status;
          return span;
        },
        updateName: () => span,
        end() {
          recorded.ended = true;
        },
        isRecording: () => true,
        recordException() {},
      };
      return span;
    },
  };
  trace.setGlobalTracerProvider({ getTracer: () => tracer as Tracer });
  return { spans, remove: () => trace.disable() };
}

describe('traces', () => {
  it('read the W3C header', () => {
    const parsed = parseTraceparent(header);
    expect(parsed).to.deep.equal({
      traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
      spanId: '00f067aa0ba902b7',
      sampled: true,
    });
  });

  for (const bad of [
    undefined,
    '',
    'nonsense',
    `ff-${'1'.repeat(32)}-${'1'.repeat(16)}-01`,
    `00-${'0'.repeat(32)}-${'1'.repeat(16)}-01`,
    `00-${'1'.repeat(32)}-${'0'.repeat(16)}-01`,
    `${header}-more`,
    header.toUpperCase(),
  ]) {
    it(`treat "${bad}" as no header`, () => {
      expect(parseTraceparent(bad)).to.equal(undefined);
      expect(createTracing().incoming(bad).traceId).to.match(/^[0-9a-f]{32}$/);
    });
  }

  it('cost nothing and record nothing without a provider', () => {
    const tracing = createTracing();
    expect(tracing.enabled).to.equal(false);
    const begun = tracing.begin('request', header);
    expect(begun.span).to.equal(undefined);
    expect(begun.trace).to.deep.equal(parseTraceparent(header));
    expect(tracing.start('call', begun.trace)).to.equal(undefined);
  });

  describe('with a registered provider', () => {
    let provider: ReturnType<typeof registerProvider>;
    beforeEach(() => {
      provider = registerProvider();
    });
    afterEach(() => provider.remove());

    it('follow one request from the header through its calls', () => {
      const tracing = createTracing();
      const request = tracing.begin('request', header, { route: '/chats' });
      const call = tracing.start('tool echo', request.trace);
      call?.set('plugin', 'tool-echo');
      call?.end();
      request.span?.end();
      expect(provider.spans.map((span) => [span.name, span.parent?.spanId, span.ended])).to.deep.equal([
        ['request', '00f067aa0ba902b7', true],
        ['tool echo', request.trace.spanId, true],
      ]);
      expect(provider.spans[1]?.attributes).to.deep.equal({ plugin: 'tool-echo' });
    });

    it('begin a new trace of the provider without a header', () => {
      const begun = createTracing().begin('request', undefined);
      expect(provider.spans[0]?.parent).to.equal(undefined);
      expect(begun.trace.traceId).to.equal('a'.repeat(32));
    });

    it('record the code of an error and never its message', () => {
      const begun = createTracing().begin('request', undefined);
      begun.span?.end(new MortiseError('provider_timeout', 'The text of a user.'));
      expect(JSON.stringify(provider.spans)).to.contain('provider_timeout').and.not.contain('text of a user');
    });

    it('omit spans that the caller does not sample', () => {
      expect(
        createTracing().start('call', { traceId: '1'.repeat(32), spanId: '1'.repeat(16), sampled: false }),
      ).to.equal(undefined);
      expect(provider.spans).to.deep.equal([]);
    });

    it('run work with the span active when there is a context manager', () => {
      const begun = createTracing().begin('request', undefined);
      expect(begun.span?.run(() => context.active() !== undefined)).to.equal(true);
    });
  });
});

describe('ids', () => {
  it('are generated for correlation, and kept for requests when well formed', () => {
    expect(newCorrelationId()).to.match(/^corr-[0-9a-f]{16}$/);
    expect(new Set(Array.from({ length: 2_000 }, newCorrelationId)).size).to.equal(2_000);
    expect(acceptRequestId('a.B:c_d-9')).to.equal('a.B:c_d-9');
    for (const bad of [undefined, '', 'a b', 'x'.repeat(129), 'ü']) {
      expect(acceptRequestId(bad)).to.match(/^req-[0-9a-f]{16}$/);
    }
  });
});
