// node run_onnx.js MODEL INPUT.json: the outputs of a model on rows of numbers, by onnxruntime-web, as JSON.
const fs = require("fs");
const ort = require("onnxruntime-web");
ort.env.wasm.numThreads = 1;
ort.env.logLevel = "fatal";

(async () => {
  const rows = JSON.parse(fs.readFileSync(process.argv[3]));
  const session = await ort.InferenceSession.create(new Uint8Array(fs.readFileSync(process.argv[2])));
  const X = new ort.Tensor("float64", Float64Array.from(rows.flat()), [rows.length, rows[0].length]);
  const { scores, labels } = await session.run({ X });
  console.log(JSON.stringify({ scores: Array.from(scores.data), labels: Array.from(labels.data, Number) }));
})();
