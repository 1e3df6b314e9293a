import type { TurnStatus } from 'mortise/contracts/sessions';
import type { MetricsService } from 'mortise/sdk';

export interface TurnMetrics {
  turn(status: TurnStatus, provider: string): void;
  firstToken(seconds: number): void;
}

export function turnMetrics(metrics: MetricsService): TurnMetrics {
  const turns = metrics.counter('mortise_turns_total', 'Agent turns by how they ended', ['status', 'provider']);
  const first = metrics.histogram('mortise_turn_first_token_seconds', 'From the open turn to its first text');
  return {
    turn: (status, provider) => turns.add(1, { status, provider }),
    firstToken: (seconds) => first.record(seconds),
  };
}
