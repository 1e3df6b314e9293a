import type { LogbookService } from 'mortise/contracts/logbook';
import type { MetricsService } from 'mortise/sdk';

/** How many rows there are, and how long the oldest has waited. */
export function observeOutbox(metrics: MetricsService, { reliability }: LogbookService): void {
  metrics.observe('mortise_outbox_rows', 'Rows of the outbox by status.', ['status'], async () => {
    const { pending, sent, dead } = await reliability.outbox();
    return Object.entries({ pending, sent, dead }).map(([status, value]) => ({ labels: { status }, value }));
  });
  metrics.observe('mortise_outbox_oldest_seconds', 'Age of the oldest row that waits.', [], async () => {
    const { oldest_pending_age_seconds: value } = await reliability.outbox();
    return [{ labels: {}, value }];
  });
}
