import { expect } from 'chai';
import { MortiseError } from '../../sdk/index.js';
import { sayUnwritten } from '../problems.js';

const thrown = (error: unknown): Promise<unknown> =>
  sayUnwritten('config/plugins.json', () => Promise.reject(error)).catch((caught: unknown) => caught);

describe('a file that cannot be written', () => {
  it('is a coded error with a hint when the disk is full', async () => {
    for (const code of ['ENOSPC', 'EDQUOT']) {
      const error = await thrown(Object.assign(new Error(`${code}: write '/secret/place'`), { code }));
      expect(error).to.be.instanceOf(MortiseError).and.include({ code: 'disk_full', status: 503, retryable: true });
      expect((error as Error).message).to.match(/^config\/plugins\.json could not be written/);
      expect((error as MortiseError).hint).to.match(/Free space/);
    }
  });

  it('names other reasons of the file system', async () => {
    const error = await thrown(Object.assign(new Error('EROFS'), { code: 'EROFS' }));
    expect(error).to.include({ code: 'file_not_written', status: 503, retryable: false });
    expect((error as Error).message).to.match(/read-only/);
  });

  it('rethrows other errors unchanged', async () => {
    for (const error of [new Error('a mistake'), new MortiseError('invalid_config', 'No.')])
      expect(await thrown(error)).to.equal(error);
  });
});
