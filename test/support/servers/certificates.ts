import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Certificate {
  cert: string;
  key: string;
}

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout'];

/** A certificate authority of a test alone. */
export class CertificateAuthority {
  private readonly folder = mkdtempSync(join(tmpdir(), 'voice-notes-ca-'));
  /** Of the authority itself, for NODE_EXTRA_CA_CERTS and for servers that ask for certificates of clients. */
  readonly certFile = join(this.folder, 'ca.pem');

  constructor() {
    this.openssl('req', '-x509', '-days', '2', ...KEY, 'ca.key', '-out', 'ca.pem', '-subj', '/CN=Test authority');
  }

  get cert(): string {
    return readFileSync(this.certFile, 'utf8');
  }

  /** @param alternatives such as `DNS:hooks.example.com` and `IP:127.0.0.1` */
  issue(name: string, alternatives: readonly string[] = []): Certificate {
    this.openssl('req', ...KEY, 'one.key', '-out', 'one.csr', '-subj', `/CN=${name}`);
    const names = alternatives.length > 0 ? `subjectAltName=${alternatives.join(',')}` : 'keyUsage=digitalSignature';
    writeFileSync(join(this.folder, 'extensions'), names);
    const by = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', 'extensions'];
    this.openssl('x509', '-req', '-in', 'one.csr', ...by, '-out', 'one.pem');
    const read = (file: string): string => readFileSync(join(this.folder, file), 'utf8');
    return { cert: read('one.pem'), key: read('one.key') };
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  private openssl(...parameters: string[]): void {
    execFileSync('openssl', parameters, { cwd: this.folder, stdio: 'pipe' });
  }
}
