import type { GateConfig } from 'mortise/contracts/gate';

/** What a schema cannot say: which value must not be above which other. The first fault as a sentence, or undefined. */
export function configFault(config: GateConfig): string | undefined {
  for (const [scene, { deliver_threshold, sink_threshold }] of Object.entries(config.scenes)) {
    if (sink_threshold > deliver_threshold) {
      return `/scenes/${scene}/sink_threshold is ${sink_threshold}: it must not be above deliver_threshold (${deliver_threshold}).`;
    }
  }
  const { thresholds } = config.budgets;
  if (thresholds.medium > thresholds.high) {
    return `/budgets/thresholds/medium is ${thresholds.medium}: it must not be above high (${thresholds.high}).`;
  }
  const { bus_on, bus_off, lag_on_ms, lag_off_ms } = config.overload;
  if (bus_off > bus_on) return `/overload/bus_off is ${bus_off}: it must not be above bus_on (${bus_on}).`;
  if (lag_off_ms > lag_on_ms) {
    return `/overload/lag_off_ms is ${lag_off_ms}: it must not be above lag_on_ms (${lag_on_ms}).`;
  }
  return undefined;
}
