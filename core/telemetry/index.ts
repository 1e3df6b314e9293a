/** Logs, metrics and traces of the process. */

export { createLogSink, type LogSinkOptions } from './log-sink.js';
export { createMetrics, type MetricsOptions } from './metrics.js';
export {
  acceptRequestId,
  createTracing,
  newCorrelationId,
  newSpanId,
  newTraceContext,
  newTraceId,
  parseTraceparent,
} from './tracing.js';
export type * from './types.js';
