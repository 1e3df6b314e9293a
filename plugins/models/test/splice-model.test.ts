import { expect } from 'chai';
import * as fc from 'fast-check';
import { spliceModel } from 'mortise/contracts/models';

const splice = (body: string, model: string) => Buffer.from(spliceModel(Buffer.from(body), model)).toString();

describe('the splice of a model', () => {
  it('replaces the value of the top-level member and nothing else', () => {
    const rows: readonly (readonly [body: string, spliced: string])[] = [
      ['{"model":"a"}', '{"model":"Z"}'],
      ['{ "x" : {"model":"a"} ,\n"model" :\t"a" , "y":1.0}', '{ "x" : {"model":"a"} ,\n"model" :\t"Z" , "y":1.0}'],
      ['{"x":"model","model":"a"}', '{"x":"model","model":"Z"}'],
      ['{"x":["model","a"],"model":"a"}', '{"x":["model","a"],"model":"Z"}'],
      ['{"x":"\\\\\\"","model":"a\\"b"}', '{"x":"\\\\\\"","model":"Z"}'],
      ['{"model":"a","model":"b"}', '{"model":"a","model":"Z"}'],
      ['{"\\u006dodel":"a"}', '{"\\u006dodel":"Z"}'],
      ['\ufeff{"model":"a"}', '\ufeff{"model":"Z"}'],
      ['{"modell":"a"}', '{"modell":"a"}'],
    ];
    for (const [body, spliced] of rows) expect(splice(body, 'Z'), body).to.equal(spliced);
  });

  it('changes the model of any object, and only that', () => {
    const rest = fc.dictionary(fc.string(), fc.jsonValue());
    fc.assert(
      fc.property(rest, rest, fc.string(), fc.nat(3), (before, after, model, indent) => {
        const body = JSON.stringify(Object.assign(before, { model: 'a' }, after, { model: 'a' }), null, indent);
        expect(JSON.parse(splice(body, model))).to.deep.equal({ ...(JSON.parse(body) as object), model });
        expect(splice(splice(body, model), 'a')).to.equal(body);
      }),
    );
  });
});
