import { collectDefaultMetrics, Gauge as PromGauge, Registry } from 'prom-client';
import type { Gauge, Histogram, MetricSample } from '../sdk/host/metrics.js';
import { type Counter, type MetricsService, MortiseError } from '../sdk/index.js';
import { CellCounter, CellHistogram } from './cells.js';
import type { HostMetrics, MetricsRegistry } from './types.js';

const nameGrammar = /^[a-z][a-z0-9_]*$/;
const readLimitMs = 2_000;

type ReadSamples = () => Promise<readonly MetricSample[]> | readonly MetricSample[];

export interface MetricsOptions {
  /** Process, garbage collection and event-loop metrics; true when absent. */
  readonly process?: boolean;
  /** Called when reading a gauge fails; the others are still rendered. */
  readonly onError?: (metric: string, error: unknown) => void;
}

interface Claim {
  readonly owner: string;
  readonly kind: string;
  readonly metric: unknown;
}

async function withinLimit<T>(work: Promise<T> | T): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`No answer within ${readLimitMs} ms.`)), readLimitMs);
    timer.unref();
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The process's metrics in one registry; each plugin gets a handle that is closed with the plugin. */
export function createMetrics(options: MetricsOptions = {}): MetricsRegistry {
  const registry = new Registry();
  const claims = new Map<string, Claim>();
  if (options.process !== false) collectDefaultMetrics({ register: registry });

  /** A plugin that asks twice gets the same metric; another plugin's name is refused. */
  function claim<M>(owner: string, kind: string, name: string, make: () => M): M {
    if (!nameGrammar.test(name)) {
      throw new MortiseError(
        'invalid_metric_name',
        `"${name}" is not a metric name: use a-z, 0-9 and _, starting with a letter.`,
      );
    }
    const taken = claims.get(name);
    if (taken !== undefined && taken.owner === owner && taken.kind === kind) return taken.metric as M;
    if (taken !== undefined || registry.getSingleMetric(name) !== undefined) {
      throw new MortiseError(
        'metric_name_taken',
        `Metric ${name} is already defined by ${taken?.owner ?? 'the host'}.`,
      );
    }
    const metric = make();
    claims.set(name, { owner, kind, metric });
    return metric;
  }

  function observe(owner: string, name: string, help: string, labels: readonly string[], read: ReadSamples): void {
    claim(owner, 'observed', name, () => {
      const gauge: PromGauge<string> = new PromGauge({
        name,
        help,
        labelNames: [...labels],
        registers: [registry],
        async collect() {
          try {
            const samples = await withinLimit(read());
            gauge.reset();
            for (const sample of samples) gauge.set({ ...sample.labels }, sample.value);
          } catch (error) {
            options.onError?.(name, error);
          }
        },
      });
      return gauge;
    });
  }

  function service(owner: string): MetricsService & { dispose(): void } {
    return {
      counter: (name, help, labels = []): Counter =>
        claim(owner, 'counter', name, () => new CellCounter(name, help, labels, registry)),
      gauge: (name, help, labels = []): Gauge =>
        claim(owner, 'gauge', name, () => {
          const gauge = new PromGauge({ name, help, labelNames: [...labels], registers: [registry] });
          return {
            set(value, values = {}) {
              gauge.set({ ...values }, value);
            },
          };
        }),
      histogram: (name, help, labels = [], buckets): Histogram =>
        claim(owner, 'histogram', name, () => new CellHistogram(name, help, labels, registry, buckets)),
      observe: (name, help, labels, read) => observe(owner, name, help, labels, read),
      render: () => registry.metrics(),
      dispose() {
        for (const [name, { owner: claimant }] of claims) {
          if (claimant !== owner) continue;
          registry.removeSingleMetric(name);
          claims.delete(name);
        }
      },
    };
  }

  return {
    host: hostMetrics(service('the host')),
    forPlugin: (plugin) => service(`plugin ${plugin}`),
    render: () => registry.metrics(),
    contentType: registry.contentType,
    dispose() {
      registry.clear();
      claims.clear();
    },
  };
}

function hostMetrics(own: MetricsService): HostMetrics {
  return {
    httpRequests: own.counter('mortise_http_requests_total', 'HTTP requests answered.', ['route', 'method', 'status']),
    httpDuration: own.histogram('mortise_http_duration_seconds', 'From request to end of answer.', ['route', 'method']),
    pointCalls: own.counter('mortise_point_calls_total', 'Calls into plugins by extension point.', [
      'point',
      'key',
      'plugin',
      'outcome',
    ]),
    pointDuration: own.histogram('mortise_point_duration_seconds', 'Time in calls into plugins.', [
      'point',
      'key',
      'plugin',
    ]),
    observePointInflight: (read) =>
      own.observe('mortise_point_inflight', 'Calls into plugins that run now.', ['point', 'key', 'plugin'], read),
    observePluginState: (read) =>
      own.observe('mortise_plugin_state', '1 for the state a plugin is in.', ['key', 'state'], read),
    observeDatabasePool: (read) => own.observe('mortise_db_pool', 'Database connections by state.', ['state'], read),
    observeDroppedLines: (read) =>
      own.observe('mortise_log_lines_dropped', 'Log lines that could not be written.', [], () => [
        { labels: {}, value: read() },
      ]),
    alerts: own.counter('mortise_alerts_total', 'Alerts raised.', ['source', 'severity', 'code']),
  };
}
