import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { Logger } from '@nestjs/common';
import type { Request, Response } from 'express';
import { UnknownPathError } from '../platform/errors/errors.js';
import { ConsoleFilesService } from './console-files.service.js';
import { ConsoleController } from './console.controller.js';

describe('ConsoleFilesService', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'console-'));
    jest.spyOn(Logger.prototype, 'warn').mockImplementation();
  });

  afterEach(() => {
    rmSync(folder, { recursive: true });
    jest.restoreAllMocks();
  });

  const write = (name: string, text: string): void => {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  };
  const open = (subfolder = ''): ConsoleFilesService =>
    new ConsoleFilesService(pathToFileURL(path.join(folder, subfolder, '/')));

  it.each(['', 'missing'])('has no page while the console is not built (folder “%s”), and warns once', (subfolder) => {
    const files = open(subfolder);
    expect(files.pageWith('n')).toBeNull();
    expect(files.find('/assets/a.js')).toBeNull();
    expect(Logger.prototype.warn).toHaveBeenCalledTimes(1);

    const controller = new ConsoleController(files);
    expect(() => controller.showPage({} as Response)).toThrow(/^The console is not built: run `npm run build`/);
    expect(() => controller.sendFile({ path: '/icon.svg' } as Request, {} as Response)).toThrow(UnknownPathError);
  });

  it('puts the nonce wherever the build left a place for it', () => {
    write('index.html', '<meta nonce="{{CSP_NONCE}}"><link nonce="{{CSP_NONCE}}">');
    expect(open().pageWith('$&')).toBe('<meta nonce="$&"><link nonce="$&">');
    expect(Logger.prototype.warn).not.toHaveBeenCalled();
  });

  it('knows files by their paths, and the compressed ones as forms of them', () => {
    write('index.html', '');
    write('assets/a.js', 'plain');
    write('assets/a.js.br', 'brotli');
    write('assets/a.js.gz', 'gzip');
    write('icon.svg', '<svg/>');
    const files = open();
    const script = files.find('/assets/a.js');
    expect(script?.contentType).toBe('text/javascript; charset=utf-8');
    expect(script?.compressed.get('br')?.toString()).toBe('brotli');
    expect(script?.compressed.get('gzip')?.toString()).toBe('gzip');
    expect(files.find('/icon.svg')?.compressed.size).toBe(0);
    for (const unknown of ['/index.html', '/assets/a.js.br', '/assets', 'icon.svg', '/__proto__']) {
      expect(files.find(unknown)).toBeNull();
    }
  });

  it('gives other content another entity tag', () => {
    write('index.html', '');
    write('icon.svg', '1');
    const first = open().find('/icon.svg')?.etag;
    expect(open().find('/icon.svg')?.etag).toBe(first);
    write('icon.svg', '2');
    expect(open().find('/icon.svg')?.etag).not.toBe(first);
  });
});
