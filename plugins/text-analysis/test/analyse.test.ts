import { expect } from 'chai';
import { analysis, source, terms } from './tokens.js';

const TABLE: Readonly<Record<string, readonly string[]>> = {
  '': [],
  '-- … 😀 \0': [],
  implementing: ['stem:implement', 'raw:implementing'],
  GUIDE: ['stem:guid', 'raw:guide'],
  guidé: ['stem:guid', 'raw:guide'],
  Ｇｕｉｄｅ: ['stem:guid', 'raw:guide'],
  'in\u00adter\u200dnet': ['stem:internet'],
  Straße: ['stem:strass', 'raw:strasse'],
  does: ['stem:does'],
  "user's": ['stem:user'],
  'don’t': ['stem:don'],
  "O'Neill": ["identifier:o'neill", 'stem:o', 'stem:neill'],
  URLs: ['stem:url', 'raw:urls'],
  file_hash: ['identifier:file_hash', 'stem:file', 'stem:hash'],
  fileHash: ['identifier:filehash', 'stem:file', 'stem:hash'],
  XMLParser: ['identifier:xmlparser', 'stem:xml', 'stem:parser'],
  OAuth2: ['identifier:oauth2', 'stem:oauth', 'stem:auth'],
  'x-1': ['identifier:x-1', 'stem:x', 'stem:1'],
  'v1.2': ['identifier:v1.2', 'identifier:v1', 'stem:2'],
  'node.js': ['identifier:node.js', 'stem:node', 'stem:js'],
  'docs/a.md': ['identifier:docs/a.md', 'stem:doc', 'raw:docs', 'identifier:a.md', 'stem:a', 'stem:md'],
  'https://a.io/b': [
    'identifier:https://a.io/b',
    'stem:http',
    'raw:https',
    'identifier:a.io',
    'stem:a',
    'stem:io',
    'stem:b',
  ],
  'C++, C#.': ['identifier:c++', 'stem:c', 'identifier:c#', 'stem:c'],
  'x/c++': ['identifier:x/c++', 'stem:x', 'identifier:c++', 'stem:c'],
  'see issue# now': ['stem:see', 'stem:issu', 'raw:issue', 'stem:now'],
  'пёс Йод': ['stem:пёс', 'stem:йод'],
  नमस्ते: ['stem:नमस्ते'],
  ΣΟΦΟΣ: ['stem:σοφοσ'],
  JWT认证: ['stem:jwt', 'word:认证', 'char:认', 'char:证'],
  港口: ['word:港口', 'char:港', 'char:口'],
  ｶﾞｽ: ['word:ガス', 'char:ガ', 'char:ス'],
  น้ำ: ['word:น้ำ', 'char:น้', 'char:ำ'],
  𠮷野家: ['word:𠮷', 'bigram:𠮷野', 'word:野家', 'char:野', 'char:家'],
};

describe('the terms of a text', () => {
  for (const [text, expected] of Object.entries(TABLE)) {
    it(`are those of the table for ${JSON.stringify(text)}`, () => {
      expect(terms(text)).to.deep.equal(expected);
    });
  }

  it('find a Chinese sentence by its words and by pairs across them', () => {
    const found = new Set(analysis.analyse('上海是一座港口城市').map(({ term }) => term));
    for (const { term } of analysis.analyseQuery('港口').terms) expect(found).to.include(term);
    const partly = analysis.analyseQuery('海港城').terms.filter(({ term }) => found.has(term));
    expect(partly.map(({ term }) => term)).to.include.members(['海', '港', '城']);
  });

  it('are the same for composed and decomposed letters', () => {
    for (const text of ['Éclair déjà-vu', '한국어 문서', 'ガラス', 'Việt Nam', 'йод']) {
      expect(terms(text.normalize('NFD'))).to.deep.equal(terms(text.normalize('NFC')));
    }
  });

  it('are the tokens of its sentences, for any length', () => {
    const sentence = '上海是一座港口城市，';
    const expected = Array.from({ length: 500 }, () => terms(sentence)).flat();
    expect(terms(sentence.repeat(500))).to.deep.equal(expected);
  });

  it('do not cut characters of two units in a long run', () => {
    const broken = analysis.analyse(`上${'𠮷'.repeat(3000)}`).filter(({ term }) => /\p{Surrogate}/u.test(term));
    expect(broken).to.deep.equal([]);
  });

  it('have offsets of their original characters, folded or not', () => {
    const text = 'Cafe\u0301 ﬁx ㍿ naïveHash 上海';
    const sources = analysis.analyse(text).map((token) => [token.term, source(text, token)]);
    expect(sources).to.deep.include.members([
      ['cafe', 'Cafe\u0301'],
      ['fix', 'ﬁx'],
      ['株式会社', '㍿'],
      ['株', '㍿'],
      ['naivehash', 'naïveHash'],
      ['hash', 'Hash'],
      ['上海', '上海'],
    ]);
  });
});

describe('the version', () => {
  it('depends on the Unicode library, whose dictionaries divide words', () => {
    expect(analysis.version)
      .to.match(/^\d+-icu/)
      .and.include(process.versions.icu);
  });
});
