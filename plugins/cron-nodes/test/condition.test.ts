import { expect } from 'chai';
import { type ConditionFacts, evaluateCondition, parseCondition } from '../condition.js';

const facts: ConditionFacts = {
  job_id: 'j1',
  job_name: 'x y',
  channel: 'console',
  user_id: 'u1',
  session_id: 's1',
  task_type: 'workflow',
  prev_status: 'succeeded',
  prev_reply: 'All is well.',
  trigger: 'schedule',
  weekday: 'mon',
  hour: '9',
};

describe('a condition', () => {
  const outcomes: readonly (readonly [string, boolean])[] = [
    ['channel == console', true],
    ['channel == Console', false],
    ['channel=="console"', true],
    ["JOB_NAME != 'x y'", false],
    ['Job_Name == "x y"', true],
    ['session_id == s1', true],
    ['user_id != "u1"', false],
    ['prev_status == succeeded', true],
    ['prev_reply contains well', true],
    ['prev_reply not_contains "is"', false],
    ['prev_reply CONTAINS "All is"', true],
    ['weekday == mon', true],
    ['hour != 9', false],
    ['trigger == schedule', true],
    [`job_id == j'1`, false],
    ['job_id == ""', false],
    ['job_name == "=="', false],
  ];
  for (const [text, expected] of outcomes) {
    it(`${text} is ${expected}`, () => {
      const condition = parseCondition(text);
      expect(condition).not.to.have.property('problem');
      if (!('problem' in condition)) expect(evaluateCondition(condition, facts)).to.equal(expected);
    });
  }

  const shape = 'if_condition must match `<field> == <value>` or `<field> != <value>`';
  const refused: readonly (readonly [string, string])[] = [
    ['', 'if_condition is required'],
    ['  ', 'if_condition is required'],
    ['channel', shape],
    ['channel = console', shape],
    ['channel == a b', shape],
    ['channel == "a" b', shape],
    ['channel == "a', shape],
    ['channel ==', shape],
    ['prev_replycontains x', shape],
    ['foo == 1', 'if_condition field "foo" is unsupported'],
  ];
  for (const [text, problem] of refused) {
    it(`"${text}" is refused`, () => {
      expect(parseCondition(text)).to.deep.equal({ problem });
    });
  }
});
