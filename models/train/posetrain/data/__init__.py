"""The packs and what is drawn from them: crops of persons, scenes, augmentation."""
