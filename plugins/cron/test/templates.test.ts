import { expect } from 'chai';
import { renderParams, templateProblem } from '../workflow/templates.js';

const scope = {
  nodes: { read: { text: 'a b', list: [1, 2] } },
  prev: { status: 'succeeded', reply: 'Hi.' },
  job: { id: 'j', name: 'News' },
  run: { id: 'r', trigger: 'manual', scheduled_at: null },
};

describe('templates in the parameters of a node', () => {
  it('keep the type of a value that stands alone, and become text otherwise', () => {
    const params = {
      list: '{{ nodes.read.list }}',
      text: '{{ job.name }}: {{ nodes.read.text | upcase }}',
      plain: 'x',
    };
    expect(renderParams(params, scope)).to.deep.equal({ list: [1, 2], text: 'News: A B', plain: 'x' });
  });

  it('are refused where they name files', () => {
    for (const tag of ['include "a"', 'render "a"', 'layout "a"'])
      expect(templateProblem({ text: `{% ${tag} %}` })).to.match(/^template error: the tag "\w+" is not available/);
  });

  it('end with an error instead of holding up the process, alone or together', () => {
    const endless: readonly (readonly [object, RegExp])[] = [
      [{ a: '{{ (1..9999999) | join }}' }, /memory alloc limit exceeded/],
      [
        { a: '{% for i in (1..9000) %}{% for j in (1..9000) %}{{ j }}{% endfor %}{% endfor %}' },
        /render limit exceeded/,
      ],
      [
        { a: Array.from({ length: 20_000 }, () => '{{ (1..20000) | sort | size }}') },
        /templates of a node may take 200 ms/,
      ],
    ];
    for (const [params, message] of endless) {
      expect(() => renderParams({ ...params }, scope))
        .to.throw(message)
        .with.property('code', 'cron_run_failed');
    }
  });
});
