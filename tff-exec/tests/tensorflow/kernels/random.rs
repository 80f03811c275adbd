//! Random graphs of known ops.

use super::*;

/// A graph of known ops on tensors `p0`, `p1`, … and what is bound to it.
struct RandomGraph {
    nodes: Vec<NodeDef>,
    /// The tensors so far: name, dtype and dimensions.
    tensors: Vec<(String, DType, Vec<u64>)>,
}

impl RandomGraph {
    const DTYPES: [DType; 7] =
        [DType::Float32, DType::Float64, DType::Float16, DType::BFloat16, DType::Int32, DType::Int64, DType::UInt8];

    fn push(&mut self, op: &str, inputs: &[&str], attrs: &[(&str, Attr)], dtype: DType, dims: &[u64]) {
        // Every other input is written with the number of the output.
        let inputs: Vec<String> = inputs
            .iter()
            .enumerate()
            .map(|(index, input)| if index % 2 == 0 { format!("{input}:0") } else { (*input).to_owned() })
            .collect();
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        let name = format!("scope/n{}", self.nodes.len());
        self.nodes.push(node(&name, op, &inputs, attrs));
        self.tensors.push((name, dtype, dims.to_vec()));
    }

    fn any(&self, random: &mut Random) -> (String, DType, Vec<u64>) {
        self.tensors[random.below(self.tensors.len())].clone()
    }

    /// Adds an op on tensors that are there.
    fn grow(&mut self, random: &mut Random) {
        let (left, dtype, dims) = self.any(random);
        let ty = Attr::Type(dtype.number());
        match random.below(6) {
            0 => self.push("Identity", &[&left], &[("T", ty)], dtype, &dims),
            1 => {
                let to = Self::DTYPES[random.below(4)];
                let attrs = [("SrcT", ty), ("DstT", Attr::Type(to.number())), ("Truncate", Attr::B(false))];
                self.push("Cast", &[&left], &attrs, to, &dims);
            }
            2 => {
                let mut wide = vec![2; random.below(2)];
                wide.extend(dims.iter().map(|&dim| if dim == 1 { 3 } else { dim }));
                let shape = format!("shape{}", self.nodes.len());
                let content: Vec<u8> = wide.iter().flat_map(|dim| dim.to_le_bytes()).collect();
                self.nodes.push(constant(&shape, tensor_proto(DType::Int64, &[wide.len() as u64], content)));
                let attrs = [("T", ty), ("Tidx", Attr::Type(INT64))];
                self.push("BroadcastTo", &[&left, &shape], &attrs, dtype, &wide);
            }
            _ => {
                let others = self.tensors.iter().filter(|(_, other, shape)| {
                    *other == dtype && (*shape == dims || shape.is_empty() || dims.is_empty())
                });
                let others: Vec<_> = others.cloned().collect();
                let (right, _, shape) = &others[random.below(others.len())];
                let ops =
                    if dtype.is_floating() { &BINARY[1..] } else { &["AddV2", "Sub", "Mul", "Minimum", "Maximum"] };
                let op = ops[random.below(ops.len())];
                let result = if dims.is_empty() { shape } else { &dims };
                self.push(op, &[&left, right], &[("T", ty)], dtype, result);
            }
        }
    }
}

/// Elements without NaNs, most of them neither small nor large.
fn plain_elements(dtype: DType, dims: &[u64], random: &mut Random) -> Vec<u128> {
    let special: Vec<u128> = special(dtype).into_iter().filter(|&bits| !is_nan(dtype, bits)).collect();
    let count = dims.iter().product::<u64>();
    (0..count).map(|_| special[random.below(special.len())]).collect()
}

#[test]
fn random_graphs_give_what_tensorflow_gives() {
    let mut random = Random(0xdead_beef_0001_0203);
    let mut ran = 0;
    for case in 0..150 {
        let mut made = RandomGraph { nodes: Vec::new(), tensors: Vec::new() };
        let (mut names, mut types, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for index in 0..1 + random.below(4) {
            let dtype = RandomGraph::DTYPES[random.below(7)];
            let dims = [&[][..], &[1], &[5], &[2, 3], &[17]][random.below(5)];
            let name = format!("p{index}");
            made.nodes.push(placeholder(&name, dtype.number()));
            made.tensors.push((name.clone(), dtype, dims.to_vec()));
            names.push(tensor(&name));
            // The type leaves some sizes open.
            let open = random.below(3) == 0;
            let shape = Shape::new(dims.iter().map(|&dim| if open { None } else { Some(dim) }));
            types.push(Type::tensor(dtype, shape));
            values.push(bits(dtype, dims, &plain_elements(dtype, dims, &mut random)));
        }
        let dtype = RandomGraph::DTYPES[random.below(7)];
        let content = bits(dtype, &[5], &plain_elements(dtype, &[5], &mut random));
        let content = array(&content).as_dense().unwrap().to_vec();
        made.nodes.push(constant("c", tensor_proto(dtype, &[5], content)));
        made.tensors.push(("c".to_owned(), dtype, vec![5]));
        for _ in 0..1 + random.below(8) {
            made.grow(&mut random);
        }
        let results: Vec<_> = (0..1 + random.below(3)).map(|_| made.any(&mut random)).collect();
        let result = TensorFlowBinding::Struct(results.iter().map(|(name, ..)| tensor(name)).collect());
        let result_ty = Type::tuple(results.iter().map(|(_, dtype, _)| any(*dtype))).unwrap();
        // In any order.
        for index in (1..made.nodes.len()).rev() {
            made.nodes.swap(index, random.below(index + 1));
        }
        let comp = Arc::new(comp(&graph(made.nodes), Some(TensorFlowBinding::Struct(names)), result));
        let ty = function(Some(Type::tuple(types).unwrap()), result_ty);
        let ours = prepare_kernels(&comp, &ty).unwrap();
        if !is_taken(&ours) {
            continue;
        }
        ran += 1;
        let theirs = leaf().prepare(&comp, &ty).unwrap();
        // Of two NaNs that a step makes of these, both are the same.
        let argument = || Value::structure(values.clone());
        let expected: Vec<_> = elements(&theirs.call(Some(&argument())).unwrap()).iter().map(hex).collect();
        let check = |result: Value| {
            let result: Vec<_> = elements(&result).iter().map(hex).collect();
            assert_eq!(result, expected, "case {case}: {comp:?}");
        };
        let before: Vec<_> = values.iter().map(hex).collect();
        check(ours.call(Some(&argument())).unwrap());
        check(ours.consume(Some(argument())).unwrap());
        // What somebody else holds is as it was; what nobody else holds may be overwritten.
        assert_eq!(values.iter().map(hex).collect::<Vec<_>>(), before, "case {case}");
        let copies = values.iter().map(|value| {
            let array = array(value);
            let bytes = Bytes::from(array.as_dense().unwrap().to_vec());
            Value::array(Array::dense(array.dtype(), array.dims(), bytes).unwrap())
        });
        check(ours.consume(Some(Value::structure(copies.collect::<Vec<_>>()))).unwrap());
    }
    assert!(ran > 100, "{ran}");
}
