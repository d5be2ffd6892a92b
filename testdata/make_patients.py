"""Make patients.h5 and patients.csv: a table whose rows belong to patients, with columns of words.

    python make_patients.py

Everything follows from formulas, so that the files are the same everywhere.
"""

import csv

import h5py
import numpy as np

n = 72
k = np.arange(n)
patient = k * 7 % 12  # rows of a patient are apart
sex = np.array(["female", "male"])[patient % 2]
city = np.array(["Graz", "Linz", "Wien"])[patient % 3]
age = 30 + 3 * patient + k % 2
height = (160 + 15 * (patient % 2) + 5 * np.sin(k)).round(2)
ill = (patient % 2 == 0) ^ (city == "Wien")
part = np.array(["train", "train", "train", "valid", "test"])[k % 5]
text = h5py.string_dtype()

with h5py.File("patients.h5", "w", libver="earliest", track_order=False) as f:
    f["age"], f["height"] = age.astype("i4"), height.astype("f4")
    f.create_dataset("sex", data=sex.astype(object), dtype=text)
    f.create_dataset("city", data=(10 * (patient % 3)).astype("u1"), dtype=h5py.enum_dtype({"Graz": 0, "Linz": 10, "Wien": 20}, "u1"))
    f.create_dataset("patient", data=np.char.add("p", patient.astype(str)).astype(object), dtype=text)
    f["site"], f["set"], f["ill"] = patient % 4, part.astype("S"), ill.astype("i8")
    obs = f.create_group("obs/sex")  # a categorical column, as AnnData has it
    obs.attrs["encoding-type"] = "categorical"
    obs["categories"], obs["codes"] = np.array(["male", "female"], dtype=object), (patient % 2 == 0).astype("i1")
    table = np.zeros(n, [("age", "i4"), ("sex", "S6"), ("height", "f4"), ("ill", "u1")])
    table["age"], table["sex"], table["height"], table["ill"] = age, sex.astype("S"), height, ill
    f["table"] = table
    # Other patients, of whom one comes from a city that the others do not.
    f["new/age"], f["new/height"] = age[:4].astype("i4"), height[:4].astype("f4")
    f.create_dataset("new/sex", data=sex[:4].astype(object), dtype=text)
    f.create_dataset("new/city", data=np.array(["Wien", "Graz", "Wels", "Linz"], dtype=object), dtype=text)
    # The consumption of a town, hour by hour, and the temperature there.
    hour = np.arange(240)
    f["load"] = (50 + 20 * np.sin(hour * np.pi / 12) + np.cos(hour)).astype("f4")
    f["temperature"] = (10 + 5 * np.sin(hour * np.pi / 12)).astype("f4")

with open("patients.csv", "w", newline="") as f:
    rows = csv.writer(f, lineterminator="\n")
    rows.writerow(["patient", "age", "sex", "height", "city", "ill"])
    rows.writerows(zip(patient, age, sex, height, city, ill.astype(int)))
