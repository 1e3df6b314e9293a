import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { checkout } from './modules.js';

interface LockedPackage {
  readonly integrity?: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const { packages } = JSON.parse(readFileSync(join(checkout, 'package-lock.json'), 'utf8')) as {
  readonly packages: Readonly<Record<string, LockedPackage>>;
};

describe('the lockfile', () => {
  it('locks the optional packages of every platform, including those not installed here', () => {
    // When a registry lacks one of them, npm install leaves it out silently, and npm ci then fails elsewhere.
    const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies)
        .filter((name) => !packages[`node_modules/${name}`] && !packages[`${path}/node_modules/${name}`])
        .map((name) => `${name} (of ${path})`),
    );
    expect(missing).to.deep.equal([]);
  });

  it('gives the checksum of every package', () => {
    const unchecked = Object.entries(packages).filter(([path, { integrity }]) => path !== '' && !integrity);
    expect(unchecked.map(([path]) => path)).to.deep.equal([]);
  });
});
