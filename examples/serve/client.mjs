// SPDX-License-Identifier: Apache-2.0
// Asks `ctsc serve` for the digit on an 8x8 image. The same lines work in a browser and in Node 18.
//
//     node examples/serve/client.mjs [URL] [MODEL]          (http://localhost:8000, digits)
const [url = "http://localhost:8000", model = "digits"] = process.argv.slice(2);
const rows = ["00111000", "01101100", "01000100", "01000100", "01000100", "01000100", "01101100", "00111000"];

async function post(path, body) {
  const answer = await fetch(url + path, {method: "POST", body: JSON.stringify(body)});
  const said = await answer.json();
  if (!answer.ok) throw new Error(said.error);
  return said;
}

try {
  const inputs = [{name: "x", datatype: "FP32", shape: [1, 1, 8, 8], data: [...rows.join("")].map(Number)}];
  const scores = (await post(`/v2/models/${model}/infer`, {inputs})).outputs[0].data;
  console.log("digit", scores.indexOf(Math.max(...scores)));
} catch (error) { // error.cause: why there was no answer
  console.error(`${url}: ${error.cause?.code ?? error.cause?.message ?? error.message}`);
  globalThis.process.exitCode = 1;
}
