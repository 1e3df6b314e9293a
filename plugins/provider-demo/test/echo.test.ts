import { expect } from 'chai';
import type { ModelMessage } from 'mortise/sdk';
import { echo } from '../echo.js';

const say = (...messages: ModelMessage[]): string => echo({ messages });

describe('the demo provider', () => {
  it('repeats the user messages, and nothing else', () => {
    const messages: ModelMessage[] = [
      { role: 'system', content: 'be kind' },
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'Echo: one' },
      { role: 'user', content: [{ type: 'text', text: 'two' }, { type: 'image' }, { type: 'text', text: 'three' }] },
    ];
    expect(say(...messages)).to.equal('Echo: one two three');
  });

  it('has a placeholder when there is nothing to repeat', () => {
    expect(say()).to.equal('Echo: (empty input)');
    expect(say({ role: 'user', content: '' }, { role: 'system', content: 'x' })).to.equal('Echo: (empty input)');
  });
});
