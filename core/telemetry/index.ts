/** Logs, metrics and traces of the process. */
export { acceptRequestId, newCorrelationId, newSpanId, newTraceId } from './ids.js';
export { createLogSink, type LogSinkOptions } from './log-sink.js';
export { createMetrics, type MetricsOptions } from './metrics.js';
export { formatTraceparent, newTraceContext, parseTraceparent } from './traceparent.js';
export { createTracing } from './tracing.js';
export type * from './types.js';
