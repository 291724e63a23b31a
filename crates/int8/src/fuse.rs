//! Merges each sum into the convolution that feeds it, where nobody else reads that convolution.

use crate::graph::Graph;
use crate::op::{ConvStore, Node, Op};
use crate::tensor::Tensor;

/// The graph's nodes with sums fused into convolutions, still in an order that can run.
pub(crate) fn fuse_sums(graph: &Graph) -> Vec<Node> {
    let readers = |t: Tensor| {
        let reads = graph.nodes.iter().flat_map(|n| &n.inputs).filter(|&&i| i == t).count();
        reads + graph.outputs.iter().filter(|&&o| o == t).count()
    };
    let mut nodes: Vec<Option<Node>> = graph.nodes.iter().cloned().map(Some).collect();
    for at in 0..nodes.len() {
        let Some(Node { op: Op::Add { params }, inputs, output }) = nodes[at].clone() else { continue };
        // The second operand first: in `x + f(x)` it is the branch, whichever comes last in the file.
        for (conv_at, other_at) in [(1, 0), (0, 1)] {
            let (branch, other) = (inputs[conv_at], inputs[other_at]);
            let producer = nodes[..at].iter_mut().find(|n| n.as_ref().is_some_and(|n| n.output == branch));
            let Some(producer) = producer else { continue };
            let Some(Node { op: Op::Conv(conv), inputs: from, .. }) = producer.as_ref() else { continue };
            let ConvStore::U8 { out, activation } = &conv.store else { continue };
            if readers(branch) != 1 || activation.table().is_some() || is_depthwise(graph, producer.as_ref())
            {
                continue;
            }
            let mut fused = conv.clone();
            fused.store = ConvStore::Sum {
                inner: *out,
                inner_activation: activation.clone(),
                add: params,
                inner_is_first: conv_at == 0,
            };
            let node = Node { op: Op::Conv(fused), inputs: vec![from[0], other], output };
            *producer = None;
            nodes[at] = Some(node);
            break;
        }
    }
    nodes.into_iter().flatten().collect()
}

/// Whether a node is a convolution with one input channel an output channel.
pub(crate) fn is_depthwise(graph: &Graph, node: Option<&Node>) -> bool {
    let Some(Node { op: Op::Conv(conv), inputs, .. }) = node else { return false };
    let c = graph.shape(inputs[0]).c;
    c > 1 && conv.weights.groups == c && conv.weights.out_channels == c
}
