"""A graph of ONNX computed by NumPy, operator by operator as their documentation says; Debian's onnx has no evaluator of its own."""

import numpy as np
from onnx import helper, numpy_helper, shape_inference

TYPES = {7: np.int64, 11: np.float64}

OPERATORS = {
    "Abs": lambda x: np.abs(x),
    "Add": lambda a, b: a + b,
    "ArgMax": lambda x, axis, keepdims: np.argmax(x, axis=axis) if not keepdims else np.expand_dims(np.argmax(x, axis=axis), axis),
    "Cast": lambda x, to: x.astype(TYPES[to]),
    "Concat": lambda *parts, axis: np.concatenate(parts, axis=axis),
    "Div": lambda a, b: a / b,
    "Exp": lambda x: np.exp(x),
    "Expand": lambda x, shape: np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(shape))),
    "Gather": lambda x, places, axis=0: np.take(x, places, axis=axis),
    "Greater": lambda a, b: a > b,
    "MatMul": lambda a, b: a @ b,
    "Mul": lambda a, b: a * b,
    "Pow": lambda x, power: x**power,
    "ReduceSum": lambda x, axes, keepdims: x.sum(axis=tuple(axes), keepdims=bool(keepdims)),
    "Shape": lambda x: np.array(x.shape, dtype=np.int64),
    "Sqrt": lambda x: np.sqrt(x),
    "Squeeze": lambda x, axes: np.squeeze(x, axis=tuple(axes)),
    "Sub": lambda a, b: a - b,
    "Unsqueeze": lambda x, axes: np.expand_dims(x, tuple(axes)),
}


def run(model, inputs):
    """The outputs by name. Types are inferred by onnx and must be those of the values."""
    inferred = shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True).graph
    kinds = {value.name: value.type.tensor_type for value in [*inferred.value_info, *inferred.output]}
    values = {constant.name: numpy_helper.to_array(constant) for constant in model.graph.initializer}
    values.update(inputs)
    for node in model.graph.node:
        attributes = {one.name: helper.get_attribute_value(one) for one in node.attribute}
        value = OPERATORS[node.op_type](*(values[name] for name in node.input), **attributes)
        values[node.output[0]] = value
        kind = kinds[node.output[0]]
        assert value.dtype == helper.mapping.TENSOR_TYPE_TO_NP_TYPE[kind.elem_type], node
        assert value.ndim == len(kind.shape.dim), node
    return {output.name: values[output.name] for output in model.graph.output}
