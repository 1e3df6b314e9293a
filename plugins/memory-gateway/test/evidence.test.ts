import { expect } from 'chai';
import { buildEvidenceUri, parseEvidenceUri } from 'mortise/contracts/evidence-store';
import { attachmentIds, normaliseEvidence, sortEvidence, validateEvidence, validationMode } from '../store/evidence.js';

const sha = 'a'.repeat(64);
const other = 'b'.repeat(64);

describe('evidence', () => {
  it('becomes one list: objects first, then references that are new and not blank', () => {
    const evidence = normaliseEvidence(
      [{ uri: 'https://a', sha256: sha, note: 1 }],
      ['https://a', ' ', 'https://b', 'https://b'],
    );
    expect(evidence.items.map(({ stored }) => stored)).to.deep.equal([
      { uri: 'https://a', sha256: sha, note: 1 },
      { uri: 'https://b', sha256: '' },
    ]);
    expect(evidence.refs).to.deep.equal(['https://a', 'https://b']);
  });

  const sources: [string, object[], string[]][] = [
    ['v2', [{ uri: 'x' }], ['x']],
    ['v1_mapped', [], ['x']],
    ['mixed', [{ uri: 'x' }], ['y']],
    ['none', [], ['', ' ']],
  ];
  for (const [source, objects, references] of sources) {
    it(`has source ${source}`, () => {
      const evidence = normaliseEvidence(objects as Record<string, unknown>[], references);
      expect(evidence.source).to.equal(source);
      expect(evidence.refs === null).to.equal(source === 'none');
    });
  }

  const findings: [string, Record<string, unknown>, string[]][] = [
    ['a missing URI', { sha256: sha }, ['EVIDENCE_MISSING_URI:evidence[0]']],
    ['a blank URI', { uri: ' ' }, ['EVIDENCE_MISSING_URI:evidence[0]']],
    ['a missing hash', { uri: 'u' }, ['EVIDENCE_MISSING_SHA256:evidence[0]:u']],
    ['a bad hash', { uri: 'u', sha256: 'z'.repeat(20) }, [`EVIDENCE_INVALID_SHA256:evidence[0]:${'z'.repeat(16)}...`]],
    ['a hash in upper case', { uri: 'u', sha256: sha.toUpperCase() }, []],
    ['an attachment that is there', { uri: `memory://attachments/1/${sha}`, sha256: sha }, []],
    [
      'an attachment that is not',
      { uri: `memory://attachments/2/${sha}`, sha256: sha },
      ['EVIDENCE_NOT_FOUND:evidence[0]'],
    ],
    [
      'an attachment with another hash',
      { uri: `memory://attachments/1/${other}`, sha256: other },
      ['EVIDENCE_SHA256_MISMATCH:evidence[0]'],
    ],
    [
      'a hash beside the URI that differs',
      { uri: `memory://attachments/1/${sha}`, sha256: other },
      ['EVIDENCE_SHA256_MISMATCH:evidence[0]'],
    ],
    ['a malformed attachment', { uri: 'memory://attachments/x', sha256: sha }, ['EVIDENCE_NOT_FOUND:evidence[0]']],
    ['an address elsewhere', { uri: 'https://a', sha256: sha }, []],
  ];
  for (const [what, item, errors] of findings) {
    it(`is checked for ${what}`, () => {
      const { items } = normaliseEvidence([item], []);
      expect(validateEvidence(items, new Map([['1', sha]])).errors).to.deep.equal(errors);
    });
  }

  it('without a hash is only a warning for a plain reference', () => {
    const { items } = normaliseEvidence([], ['https://a']);
    expect(validateEvidence(items, new Map())).to.deep.equal({
      errors: [],
      warnings: ['EVIDENCE_LEGACY_NO_SHA256:evidence[0]:https://a'],
    });
  });

  it('looks up only the attachments it refers to', () => {
    const uris = [
      `memory://attachments/7/${sha}`,
      'memory://attachments/x/y',
      `memory://patch_blobs/git/1/${sha}`,
      'https://a',
    ];
    expect(attachmentIds(normaliseEvidence([], uris).items)).to.deep.equal(['7']);
  });

  const modes: [string, boolean, boolean, boolean, string][] = [
    ['strict', true, false, true, 'strict_enforced'],
    ['STRICT', true, false, true, 'strict_enforced'],
    ['strict', false, false, false, 'strict_env_override'],
    ['strict', false, true, true, 'strict_env_override'],
    ['compat', true, false, false, 'compat_default'],
    ['compat', true, true, true, 'compat_default'],
    ['loose', true, true, true, 'compat_default'],
  ];
  for (const [mode, enforceInStrictMode, validateEvidenceFlag, isOn, reason] of modes) {
    it(`in mode ${mode}, enforced ${enforceInStrictMode}, validated ${validateEvidenceFlag}: ${reason}`, () => {
      const found = validationMode(mode, {
        strict_mode_enforce_validate_refs: enforceInStrictMode,
        validate_evidence_refs: validateEvidenceFlag,
      });
      expect(found).to.deep.include({ isOn, reason });
    });
  }

  it('is sorted by where it is stored', () => {
    const patch = `memory://patch_blobs/git/repo/1/${sha}`;
    const attachment = `memory://attachments/1/${sha}`;
    const { items } = normaliseEvidence(
      [{ uri: patch, sha256: sha, source_id: '9', text: 'secret' }],
      [attachment, 'https://a'],
    );
    expect(sortEvidence(items)).to.deep.equal({
      patches: [{ uri: patch, sha256: sha, source_id: '9' }],
      attachments: [{ uri: attachment, sha256: '' }],
      external: [{ uri: 'https://a', sha256: '' }],
    });
  });
});

describe('evidence URIs', () => {
  const bad: [string, string][] = [
    ['https://a', 'E_NOT_MEMORY'],
    ['memory://other/1', 'E_NOT_ATTACHMENTS'],
    [`memory://attachments/space/1/${sha}`, 'E_LEGACY_FORMAT'],
    [`memory://attachments/one/${sha}`, 'E_INVALID_ID'],
    ['memory://attachments/1/abc', 'E_INVALID_SHA256'],
    ['memory://attachments/1', 'E_MALFORMED'],
    [`memory://patch_blobs/${sha}`, 'E_MALFORMED'],
    [`memory://patch_blobs/git//${sha}`, 'E_INVALID_ID'],
  ];
  for (const [uri, code] of bad) {
    it(`refuse ${uri.slice(0, 40)} as ${code}`, () => {
      expect(parseEvidenceUri(uri)).to.deep.equal({ ok: false, code });
    });
  }

  it('are built in lower case and read back', () => {
    const uri = buildEvidenceUri('attachments', 12, sha.toUpperCase());
    expect(uri).to.equal(`memory://attachments/12/${sha}`);
    expect(parseEvidenceUri(uri)).to.deep.equal({ ok: true, kind: 'attachments', id: '12', sha256: sha });
    expect(() => buildEvidenceUri('attachments', 12, 'nothex')).to.throw(TypeError);
  });
});
