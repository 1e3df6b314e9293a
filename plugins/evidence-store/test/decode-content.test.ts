import { expect } from 'chai';
import { decodeContent, extensionOf, parseMediaType } from '../upload/read-content.js';

const text = (bytes: Uint8Array | undefined) => (bytes === undefined ? undefined : Buffer.from(bytes).toString('utf8'));

describe('the content of evidence', () => {
  it('is text unless it is declared as base64', () => {
    expect(text(decodeContent('aGVsbG8=', false))).to.equal('aGVsbG8=');
    expect(text(decodeContent('data:text/plain,hello', false))).to.equal('data:text/plain,hello');
    expect(text(decodeContent('data:text/plain;base64,aGVsbG8=', false))).to.equal('hello');
    expect(text(decodeContent('DATA:;charset=x; BASE64,aGVsbG8=', false))).to.equal('hello');
    expect(decodeContent('data:;base64,***', false)).to.equal(undefined);
    expect(text(decodeContent('一\0', false))).to.equal('一\0');
    expect(decodeContent('\ud800', false)).to.equal(undefined);
  });

  it('has a type, ignoring case and parameters', () => {
    expect(parseMediaType('Text/PLAIN; charset=UTF-8')).to.deep.equal({ essence: 'text/plain', isBase64: false });
    expect(parseMediaType('text/plain;Base64')).to.deep.equal({ essence: 'text/plain', isBase64: true });
    for (const none of ['', 'text', '/', 'text/', 'te xt/plain', 'text/plain/x', 'text/plain,text/html']) {
      expect(parseMediaType(none), none).to.equal(undefined);
    }
  });

  it('has an extension by its type', () => {
    const types =
      'text/plain text/markdown text/x-diff text/x-patch application/json application/xml text/xml text/html text/csv text/yaml application/x-yaml image/png';
    expect(types.split(' ').map(extensionOf).join(' ')).to.equal(
      '.txt .md .diff .patch .json .xml .xml .html .csv .yaml .yaml .bin',
    );
  });
});
