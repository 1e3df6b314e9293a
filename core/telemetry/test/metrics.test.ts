import { expect } from 'chai';
import { createMetrics } from '../metrics.js';

function plain() {
  const errors: string[] = [];
  const metrics = createMetrics({ process: false, onError: (metric) => errors.push(metric) });
  return { metrics, errors };
}

describe('metrics', () => {
  it('counts, with labels looked up each time or bound once', async () => {
    const { metrics } = plain();
    const calls = metrics.host.pointCalls;
    const bound = calls.bind({ point: 'tool', key: 'echo', plugin: 'tool-echo', outcome: 'ok' });
    bound.add();
    bound.add(2);
    calls.add(1, { plugin: 'tool-echo', outcome: 'ok', point: 'tool', key: 'echo' });
    const text = await metrics.render();
    expect(text).to.contain('# TYPE mortise_point_calls_total counter');
    expect(text).to.contain('mortise_point_calls_total{point="tool",key="echo",plugin="tool-echo",outcome="ok"} 4');
  });

  it('puts durations into cumulative buckets', async () => {
    const { metrics } = plain();
    const duration = metrics.forPlugin('kb').histogram('kb_seconds', 'Time.', ['kind'], [0.1, 1]);
    duration.bind({ kind: 'a' }).record(0.05);
    duration.record(0.1, { kind: 'a' });
    duration.record(0.5, { kind: 'a' });
    duration.record(7, { kind: 'a' });
    duration.record(Number.NaN, { kind: 'a' });
    const text = await metrics.render();
    expect(text).to.contain('kb_seconds_bucket{le="0.1",kind="a"} 2');
    expect(text).to.contain('kb_seconds_bucket{le="1",kind="a"} 3');
    expect(text).to.contain('kb_seconds_bucket{le="+Inf",kind="a"} 4');
    expect(text).to.contain('kb_seconds_sum{kind="a"} 7.65');
    expect(text).to.contain('kb_seconds_count{kind="a"} 4');
  });

  it('reads observed gauges on request, and shows the others when one fails', async () => {
    const { metrics, errors } = plain();
    const plugin = metrics.forPlugin('memory-outbox');
    let rows = 3;
    plugin.observe('outbox_rows', 'Rows.', ['status'], () => [{ labels: { status: 'pending' }, value: rows }]);
    plugin.observe('outbox_age', 'Age.', [], () => {
      throw new Error('database gone');
    });
    expect(await metrics.render()).to.contain('outbox_rows{status="pending"} 3');
    rows = 4;
    expect(await metrics.render()).to.contain('outbox_rows{status="pending"} 4');
    expect(errors).to.deep.equal(['outbox_age', 'outbox_age']);
  });

  it('withdraws only a plugin’s own metrics with the plugin', async () => {
    const { metrics } = plain();
    const [one, two] = [metrics.forPlugin('one'), metrics.forPlugin('two')];
    one.counter('one_total', 'One.').add();
    two.gauge('two_level', 'Two.').set(7);
    one.dispose();
    const text = await metrics.render();
    expect(text).to.not.contain('one_total');
    expect(text).to.contain('two_level 7');
    metrics.forPlugin('one').counter('one_total', 'One.');
    expect(await metrics.render()).to.contain('one_total 0');
  });

  it('returns the same metric to the same plugin and refuses it to another', () => {
    const { metrics } = plain();
    const first = metrics.forPlugin('one').counter('shared_total', 'Shared.');
    expect(metrics.forPlugin('one').counter('shared_total', 'Shared.')).to.equal(first);
    expect(() => metrics.forPlugin('two').counter('shared_total', 'Shared.'))
      .to.throw('plugin one')
      .with.property('code', 'metric_name_taken');
    expect(() => metrics.forPlugin('two').counter('mortise_http_requests_total', 'Mine.'))
      .to.throw()
      .with.property('code', 'metric_name_taken');
    expect(() => metrics.forPlugin('two').counter('Bad-Name', 'Bad.'))
      .to.throw()
      .with.property('code', 'invalid_metric_name');
  });

  it('refuses labels that were not declared', () => {
    const { metrics } = plain();
    const counter = metrics.forPlugin('one').counter('one_total', 'One.', ['a']);
    expect(() => counter.add(1))
      .to.throw()
      .with.property('code', 'invalid_metric_labels');
    expect(() => counter.add(1, { a: 'x', b: 'y' }))
      .to.throw()
      .with.property('code', 'invalid_metric_labels');
  });

  it('folds label sets beyond a thousand into one', async () => {
    const { metrics } = plain();
    const counter = metrics.forPlugin('one').counter('many_total', 'Many.', ['user']);
    for (let index = 0; index < 1_500; index += 1) counter.add(1, { user: `u${index}` });
    const text = await metrics.render();
    expect(text.match(/^many_total\{/gm)).to.have.length(1_001);
    expect(text).to.contain('many_total{user="other"} 500');
  });

  it('shows process and event-loop metrics', async () => {
    const metrics = createMetrics();
    const text = await metrics.render();
    expect(text).to.contain('nodejs_eventloop_lag_seconds').and.to.contain('process_resident_memory_bytes');
    metrics.dispose();
  });
});
