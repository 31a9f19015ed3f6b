"""The units this package knows, in pint's definition grammar: SI, time, information, and the currencies of computing.

An own list instead of pint's default one, because there a bit is dimensionless (bytes would add to FLOP), ``nat`` is a
pressure and ``b`` a cross section; and because a list this short loads in a tenth of the time. Plugins add to it.
"""

from __future__ import annotations

_PREFIX_DEFINITIONS = """
quecto- = 1e-30 = q-
ronto- = 1e-27 = r-
yocto- = 1e-24 = y-
zepto- = 1e-21 = z-
atto- = 1e-18 = a-
femto- = 1e-15 = f-
pico- = 1e-12 = p-
nano- = 1e-9 = n-
micro- = 1e-6 = u-
milli- = 1e-3 = m-
centi- = 1e-2 = c-
deci- = 1e-1 = d-
kilo- = 1e3 = k-
mega- = 1e6 = M-
giga- = 1e9 = G-
tera- = 1e12 = T-
peta- = 1e15 = P-
exa- = 1e18 = E-
zetta- = 1e21 = Z-
yotta- = 1e24 = Y-
ronna- = 1e27 = R-
quetta- = 1e30 = Q-
kibi- = 1024 = Ki-
mebi- = 1048576 = Mi-
gibi- = 1073741824 = Gi-
tebi- = 1099511627776 = Ti-
pebi- = 1125899906842624 = Pi-
exbi- = 1152921504606846976 = Ei-
"""

_SI = """
meter = [length] = m = metre
second = [time] = s = sec
ampere = [current] = A = amp
candela = [luminosity] = cd
gram = [mass] = g
mole = [substance] = mol
kelvin = [temperature]; offset: 0 = K
degree_Celsius = kelvin; offset: 273.15 = degC = celsius
radian = [] = rad
degree = 3.141592653589793 / 180 * radian = deg
percent = 0.01
ppm = 1e-6
hertz = 1 / second = Hz
newton = kilogram * meter / second ** 2 = N
pascal = newton / meter ** 2 = Pa
joule = newton * meter = J
watt = joule / second = W
coulomb = ampere * second = C
volt = joule / coulomb = V
ohm = volt / ampere
farad = coulomb / volt = F
tesla = volt * second / meter ** 2
lumen = candela * radian ** 2 = lm
liter = 1e-3 * m ** 3 = l = L = litre
tonne = 1e3 * kilogram = t
electron_volt = 1.602176634e-19 * J = eV
calorie = 4.184 * joule = cal
watt_hour = 3600 * joule = Wh
angstrom = 1e-10 * meter
inch = 0.0254 * meter
"""

_TIME = """
minute = 60 * second = min
hour = 60 * minute = h = hr
day = 24 * hour = d
week = 7 * day
year = 365.25 * day = yr
month = year / 12
quarter = year / 4
decade = 10 * year
century = 100 * year = centuries
"""

_OWN_DEFINITIONS = """
bit = [information]
byte = 8 * bit = B
FLOP = [floating_point_operation]
synaptic_op = [synaptic_operation]
TEPS = [traversed_edges_per_second]
bit_erasure = [bit_erasure]
token = [token]
param = [parameter] = parameter
image = [image]
sample = [sample]
nat = [nat]
USD = [currency]
cent = USD / 100
"""

#: One definition a line, as pint reads them.
DEFINITIONS: tuple[str, ...] = tuple(
    line for block in (_PREFIX_DEFINITIONS, _SI, _TIME, _OWN_DEFINITIONS) for line in block.strip().splitlines()
)
